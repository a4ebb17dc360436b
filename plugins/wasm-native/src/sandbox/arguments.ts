import type { WasmNumber, WasmValueType } from '@nodekeep/plugin-sdk'
import { Refusal } from './refusal.ts'
import type { NumericType } from './type-section.ts'

/**
 * Makes of the arguments what V8 takes for a function of this type: bigints for `i64`, numbers for all others.
 * V8 itself would cut off what does not fit, and put zeros in the place of what is missing.
 *
 * @throws Refusal
 */
export function fitArguments({ parameters }: NumericType, args: readonly WasmNumber[]): WasmNumber[] {
  if (args.length !== parameters.length) {
    throw new Refusal(
      'VALIDATION_ERROR',
      `The function takes ${parameters.length} arguments (${parameters.join(', ') || 'none'}), and ${args.length} were given.`,
    )
  }
  return parameters.map((type, index) => fit(type, args[index] ?? 0, index))
}

function fit(type: WasmValueType, value: WasmNumber, index: number): WasmNumber {
  if (type === 'i64' && typeof value === 'bigint') return value
  if (type === 'i64' && Number.isSafeInteger(value)) return BigInt(value)
  if (type === 'i32' && Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 32) return value
  if ((type === 'f32' || type === 'f64') && typeof value === 'number') return value
  throw new Refusal('VALIDATION_ERROR', `Argument ${index + 1} is no number that fits the type ${type}.`)
}
