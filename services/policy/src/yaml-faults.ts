import { type Document, isScalar, type LineCounter, type Pair, visit, type YAMLError, type YAMLMap } from 'yaml';

/** What makes a text no YAML; the first fault alone, since those after it mostly follow from it. */
export function yamlFaults(doc: Document.Parsed, lines: LineCounter): string[] {
  const [first] = doc.errors;
  if (first === undefined) return [];
  const what =
    twice(doc, lines, first) ?? (first.message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, '');
  return [`line ${lines.linePos(first.pos[0]).line}: ${what}`];
}

function twice(doc: Document.Parsed, lines: LineCounter, error: YAMLError): string | undefined {
  if (error.code !== 'DUPLICATE_KEY') return undefined;
  let said: string | undefined;
  visit(doc, {
    Map(_, map) {
      const second = map.items.find((pair) => startOf(pair) === error.pos[0]);
      const first = map.items.find((pair) => second && keyOf(pair) === keyOf(second));
      if (second === undefined || first === undefined) return undefined;
      const what = isTop(doc, map) ? 'the section' : 'the field';
      const where = lines.linePos(startOf(first) ?? 0).line;
      said = `${what} \`${keyOf(first)}\` is there already (line ${where}): add to that one`;
      return visit.BREAK;
    },
  });
  return said;
}

const isTop = (doc: Document.Parsed, map: YAMLMap): boolean => Object.is(doc.contents, map);
const keyOf = ({ key }: Pair): unknown => (isScalar(key) ? key.value : undefined);
const startOf = ({ key }: Pair): number | undefined => (isScalar(key) ? key.range?.[0] : undefined);
