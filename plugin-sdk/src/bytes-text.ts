const units = ['B', 'kB', 'MB', 'GB', 'TB']

/**
 * Writes a number of bytes in units of 1000, such as `1.5 MB`.
 *
 * @param locale the language in which the number is written, as a BCP 47 tag. Default: `en`
 */
export function bytesText(bytes: number, locale = 'en'): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1)
  const value = bytes / 1000 ** power
  return `${value.toLocaleString(locale, { maximumFractionDigits: power === 0 || value >= 100 ? 0 : 1 })} ${units[power]}`
}
