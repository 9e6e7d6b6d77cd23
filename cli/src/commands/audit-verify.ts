/** The file that auditors keep, as it stands in the package: what checks here is what checks there. */
const VERIFIER = new URL('../../../verify/holdpoint-verify.mjs', import.meta.url);

export interface VerifyOptions {
  key: string[];
  checkpoint: string[];
  against?: string;
  json?: boolean;
}

interface Verifier {
  run(
    asked: {
      file: string;
      keys: string[];
      checkpoints: string[];
      against?: string | undefined;
      json?: boolean | undefined;
    },
    write: (text: string) => void,
  ): Promise<number>;
}

/** Whether an export of the audit log is what was signed. Asks no service, and knows no other source than the files given. */
export async function verifyExport(file: string, { key, checkpoint, against, json }: VerifyOptions): Promise<number> {
  const { run } = (await import(VERIFIER.href)) as Verifier;
  return run({ file, keys: key, checkpoints: checkpoint, against, json }, (text) => process.stdout.write(text));
}
