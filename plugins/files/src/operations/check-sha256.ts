import { invalid } from '@nodekeep/plugin-sdk'

/** @throws NodekeepError VALIDATION_ERROR for another text: a plugin in JavaScript may pass anything */
export function checkSha256(sha256: string): void {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw invalid('A SHA-256 must be 64 hexadecimal digits, in lower case.')
}
