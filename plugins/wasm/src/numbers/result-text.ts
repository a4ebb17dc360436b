import type { WasmNumber } from '@nodekeep/plugin-sdk'

/**
 * Writes the results of a call as JSON: `null` for none, a number for one, an array for several. What JSON has no number
 * for is a text: integers that a double doesn't hold exactly, in decimal digits, and "NaN", "Infinity" and "-Infinity".
 * A negative zero is the number `-0`, which JSON has and `JSON.stringify` doesn't write.
 */
export function resultText(results: readonly WasmNumber[]): string {
  const [first] = results
  if (first === undefined) return 'null'
  return results.length === 1 ? numberText(first) : `[${results.map(numberText).join()}]`
}

function numberText(value: WasmNumber): string {
  if (typeof value === 'bigint') {
    return Number.isSafeInteger(Number(value)) ? `${value}` : `"${value}"`
  }
  if (!Number.isFinite(value)) return `"${value}"`
  return Object.is(value, -0) ? '-0' : `${value}`
}
