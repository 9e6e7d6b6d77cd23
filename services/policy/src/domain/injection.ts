/**
 * Phrases by which text tries to become an instruction. A hit never blocks (charter, section 4): it is shown to the
 * reviewer and the model is reminded. Every gap is bounded, so that hostile text cannot make matching slow.
 */
const MARKERS: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget|override|bypass)\s+(?:\w+\s+){0,4}(?:instructions?|prompts?|rules|guidelines|directives)\b/,
  /\b(?:ignoriere?|vergiss|missachte)\s+(?:\p{L}+\s+){0,4}(?:anweisung(?:en)?|regeln|vorgaben|instruktionen)/u,
  /\byou\s+are\s+(?:now|no\s+longer)\s+(?:an?|the|in|bound)\b/,
  /\b(?:new|updated|revised)\s+(?:system\s+)?instructions?\s*:/,
  /\b(?:reveal|print|show|repeat|output)\s+(?:\w+\s+){0,3}system\s+prompt\b/,
  /\b(?:do\s+not|don't|never)\s+(?:tell|inform|mention|notify|alert)\s+(?:\w+\s+){0,3}(?:user|person|human|reviewer|owner|anyone)\b/,
  /\b(?:already|pre)[\s-]?(?:approved|authori[sz]ed)\b/,
  /<\|(?:im_start|im_end|system|endoftext)\|>|\[\/?inst\]|<\/?(?:system|assistant|important|instructions?)>/,
  /(?:^|\n)\s{0,8}(?:#{1,6}\s{0,4})?(?:system|assistant)\s{0,4}:/,
];

/**
 * Characters that a screen does not show or that reorder what it shows; ordinary line breaks and tabs aside. U+2800 and
 * U+1D159 are symbols by their class and leave nothing to see.
 */
const HIDDEN = /[[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cc}\u2800\u{1d159}]--[\t\n\r]]/v;
const HIDDEN_ALL = new RegExp(HIDDEN, 'gv');

export type InjectionFlag = 'injection-marker' | 'hidden-characters';

/** Joiners and selectors inside an emoji hide nothing. */
const EMOJI = /\p{RGI_Emoji}/gv;

/** Flags on the free text of a call's arguments: every string of the JSON, names of members included. */
export function injectionFlags(argumentJson: string): InjectionFlag[] {
  const flags = new Set<InjectionFlag>();
  for (const text of strings(argumentJson)) {
    if (HIDDEN.test(text.replace(EMOJI, ''))) flags.add('hidden-characters');
    const seen = text.normalize('NFKC').replace(HIDDEN_ALL, '').toLowerCase();
    if (MARKERS.some((m) => m.test(seen))) flags.add('injection-marker');
  }
  return [...flags].sort();
}

/** Without recursion, for its depth is a stranger's choice. Text that is no JSON is looked at as it is. */
function strings(json: string): string[] {
  const out: string[] = [];
  let open: unknown[];
  try {
    open = [JSON.parse(json)];
  } catch {
    return [json];
  }
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string') out.push(value);
    else if (Array.isArray(value)) for (const item of value) open.push(item);
    else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        out.push(key);
        open.push(item);
      }
    }
  }
  return out;
}
