/**
 * A program's exit code, of 32 bits. What the SDK says has only the last 8 of them for certain.
 *
 * @param told by the SDK
 * @param exited what the program exited with, as far as it was seen; with several threads, perhaps another one's
 */
export function wholeExitCode(told: number, exited: number | undefined): number {
  return exited !== undefined && (exited & 255) === (told & 255) ? exited : told
}
