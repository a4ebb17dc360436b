import {
  NodekeepError,
  type WasmFunctionExport,
  type WasmNumber,
  type WasmValueType,
} from '@nodekeep/plugin-sdk'
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
  f32: (value) => {
    const number = floatArgument(value)
    return typeof number === 'number' ? Math.fround(number) : number
  },
  f64: floatArgument,
}

function floatArgument(value: unknown): number | string {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  const named = typeof value === 'string' ? floatNames.get(value) : undefined
  // A number that is too large for a double was read as an infinity, which JSON has only as a text.
  return named ?? 'a number that a double can hold, "NaN", "Infinity" or "-Infinity"'
}

/** A name for a message: names of exports may be as long as a module. */
function shortened(name: string): string {
  return name.length <= 100 ? name : `${name.slice(0, 100)}…`
}

function invalid(message: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', message)
}
