/**
 * Writes how many there are, such as `1 file` or `1,234 files`.
 *
 * @param one the words after 1
 * @param several the words after all other numbers. Default: `one` with an s
 */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : several}`
}
