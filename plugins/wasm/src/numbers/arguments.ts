import {
  NodekeepError,
  type WasmFunctionExport,
  type WasmNumber,
  type WasmValueType,
} from '@nodekeep/plugin-sdk'
import { shortened } from '../shortened.ts'
import { integerArgument } from './integer-argument.ts'

const floatNames = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
])

/**
 * Reads the arguments of a call from JSON, as the types of the function's parameters say.
 *
 * @throws NodekeepError VALIDATION_ERROR that names the argument which doesn't fit
 */
export function readArguments(
  { name, parameters }: WasmFunctionExport,
  args: readonly unknown[],
): WasmNumber[] {
  if (args.length !== parameters.length) {
    const wanted = parameters.length === 0 ? 'none' : `${parameters.length} (${parameters.join(', ')})`
    throw invalid(
      `"${shortened(name)}" takes ${wanted} as arguments, but "args" has ${args.length} ${args.length === 1 ? 'value' : 'values'}.`,
    )
  }
  return parameters.map((type, index) => {
    const read = readers[type](args[index])
    if (typeof read !== 'string') return read
    throw invalid(
      `Argument ${index + 1} of "${shortened(name)}" ("args.${index}") must be ${read} (${type}).`,
    )
  })
}

/** Each gives the number, or what it should have been. */
const readers: Readonly<Record<WasmValueType, (value: unknown) => WasmNumber | string>> = {
  i32: (value) => integerArgument(value, 'i32'),
  i64: (value) => integerArgument(value, 'i64'),
  f32: singleArgument,
  f64: floatArgument,
}

function floatArgument(value: unknown): number | string {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  const named = typeof value === 'string' ? floatNames.get(value) : undefined
  // A number that is too large for a double was read as an infinity, which JSON has only as a text.
  return named ?? 'a number that a double can hold, "NaN", "Infinity" or "-Infinity"'
}

/** Rounding takes digits. What it would make an infinity is no number of this type at all. */
function singleArgument(value: unknown): number | string {
  const single = typeof value === 'number' ? Math.fround(value) : floatArgument(value)
  const isBeyond = typeof value === 'number' && !Number.isFinite(single)
  return isBeyond || typeof single === 'string'
    ? 'a number that a single can hold (up to about ±3.4028235e38), "NaN", "Infinity" or "-Infinity"'
    : single
}

function invalid(message: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', message)
}
