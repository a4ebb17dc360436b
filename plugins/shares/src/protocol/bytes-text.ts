const units = ['B', 'kB', 'MB', 'GB', 'TB']

/** Writes a number of bytes in units of 1000, such as `1.5 MB`. */
export function bytesText(bytes: number): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1)
  const value = bytes / 1000 ** power
  return `${value.toLocaleString('en', { maximumFractionDigits: power === 0 || value >= 100 ? 0 : 1 })} ${units[power]}`
}
