import { wat } from './wat.ts'
import { functionsOf } from './web-assembly.ts'

/** The value of a constant. */
export type Constant = number | bigint

/**
 * Returns the values of constants of the text format. The engine of this process compiles functions that return them.
 * Patterns for NaN become NaN.
 */
export async function valuesOf(constants: readonly string[]): Promise<Constant[]> {
  const functions = constants.map((constant, index) => {
    const type = /^\(\s*(i32|i64|f32|f64)\.const/.exec(constant)?.[1]
    if (type === undefined) throw new Error(`${constant} is no constant.`)
    return `(func (export "${index}") (result ${type}) ${constant.replace(/nan:(canonical|arithmetic)/, 'nan')})`
  })
  const exports = await functionsOf(await wat(`(module ${functions.join('\n')})`))
  return constants.map((_constant, index) => exports[index]?.() ?? Number.NaN)
}

/** Returns a value in the notation of a request. */
export function jsonOf(value: Constant): string {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? `${value}` : `"${value}"`
  if (!Number.isFinite(value)) return `"${value}"`
  return Object.is(value, -0) ? '-0' : `${value}`
}
