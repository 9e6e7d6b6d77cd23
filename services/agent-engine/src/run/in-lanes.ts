/**
 * Works on items, at most `lanes` at once. @returns what came of each, in the order of the items. @throws the first error,
 * once nothing is under way any more; what had not begun by then never does.
 */
export async function inLanes<T, R>(
  lanes: number,
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const index = next++;
      try {
        results[index] = await work(items[index] as T, index);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: Math.min(lanes, items.length) }, lane));
  const broken = ended.find((e) => e.status === 'rejected');
  if (broken) throw broken.reason;
  return results;
}
