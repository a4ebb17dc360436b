/**
 * A number of bytes with a unit, such as "8GB" or "1.5 MiB", as the pattern of a JSON Schema, which has no flags. SI prefixes are
 * powers of 1000, IEC prefixes powers of 1024 (IEC 80000-13).
 */
export const byteSizePattern = '^(\\d+(?:\\.\\d+)?) ?(?:([KMGTkmgt])(i)?)?[Bb]$'

const prefixes = ['', 'K', 'M', 'G', 'T']

/**
 * Returns the bytes of a text with a unit, such as "8GB" or "1.5 MiB", or `undefined` for other texts. SI prefixes are powers of 1000, IEC
 * prefixes powers of 1024 (IEC 80000-13).
 */
export function parseByteSize(text: string): number | undefined {
  const [, amount, prefix = '', binary] = new RegExp(byteSizePattern).exec(text.trim()) ?? []
  if (amount === undefined) return undefined
  const base = binary === undefined ? 1000 : 1024
  return Math.round(Number(amount) * base ** prefixes.indexOf(prefix.toUpperCase()))
}
