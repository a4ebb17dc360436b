import {
  invalid,
  NodekeepError,
  type WasmFunctionExport,
  type WasmNumber,
  type WasmValueType,
} from '@nodekeep/plugin-sdk'

const floatNames = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
])

/** A decimal integer of at most 20 digits, which every 64-bit integer fits into. */
const decimal = /^-?\d{1,20}$/
const least64 = -(2n ** 63n)
const most64 = 2n ** 64n - 1n

/**
 * Reads the arguments of a call from JSON, as the types of the function's parameters say.
 * WebAssembly's integers have no sign of their own: 32 ones are -1 or 4294967295. Both ways to write them are accepted,
 * as in the text format, and the runtime gets the signed one.
 *
 * @throws NodekeepError VALIDATION_ERROR that names the first argument that does not fit
 */
export function readArguments(
  { name, parameters }: WasmFunctionExport,
  args: readonly unknown[],
): WasmNumber[] {
  const shortName = name.length <= 100 ? name : `${name.slice(0, 100)}…`
  if (args.length !== parameters.length) {
    const wanted = parameters.length === 0 ? 'none' : `${parameters.length} (${parameters.join(', ')})`
    throw invalid(
      `"${shortName}" takes ${wanted} as arguments, but "args" has ${args.length} ${args.length === 1 ? 'value' : 'values'}.`,
    )
  }
  return parameters.map((type, index) => {
    const read = readers[type](args[index])
    if (typeof read !== 'string') return read
    throw invalid(`Argument ${index + 1} of "${shortName}" ("args.${index}") must be ${read} (${type}).`)
  })
}

/** Each returns the number, or a description of what it must be. */
const readers: Readonly<Record<WasmValueType, (value: unknown) => WasmNumber | string>> = {
  i32: integerArgument,
  i64: longArgument,
  f32: singleArgument,
  f64: floatArgument,
}

function integerArgument(value: unknown): number | string {
  if (typeof value === 'number' && Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 32) {
    return value | 0
  }
  return 'an integer from -2147483648 to 4294967295'
}

/** Returns a number where a number holds the integer exactly, otherwise a bigint of 64 bits with a sign. */
function longArgument(value: unknown): WasmNumber | string {
  if (typeof value === 'number') {
    // Adding 0 makes a negative zero, which integers do not have, a plain one.
    if (Number.isSafeInteger(value)) return value + 0
    return 'an integer; write one beyond ±9007199254740991 as a text of decimal digits'
  }
  if (typeof value === 'string' && decimal.test(value)) {
    const integer = BigInt(value)
    const signed = BigInt.asIntN(64, integer)
    const number = Number(signed)
    if (integer >= least64 && integer <= most64) return Number.isSafeInteger(number) ? number : signed
  }
  return 'an integer or a text of decimal digits, from -9223372036854775808 to 18446744073709551615'
}

function floatArgument(value: unknown): number | string {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  const named = typeof value === 'string' ? floatNames.get(value) : undefined
  // JSON.parse reads a number that is too large for a double as an infinity. Infinities are accepted as texts only.
  return named ?? 'a number that a double can hold, "NaN", "Infinity" or "-Infinity"'
}

/** Rounding to a single is fine. A number that it would make an infinity is refused. */
function singleArgument(value: unknown): number | string {
  const single = typeof value === 'number' ? Math.fround(value) : floatArgument(value)
  const isBeyond = typeof value === 'number' && !Number.isFinite(single)
  return isBeyond || typeof single === 'string'
    ? 'a number that a single can hold (up to about ±3.4028235e38), "NaN", "Infinity" or "-Infinity"'
    : single
}

/**
 * Writes the results of a call as JSON: `null` for none, a number for one, an array for several. Values that JSON has
 * no number for are texts: integers that a double does not hold exactly, in decimal digits, and "NaN", "Infinity" and
 * "-Infinity". A negative zero is the number `-0`, which JSON has and `JSON.stringify` does not write.
 *
 * @throws NodekeepError SERVICE_UNAVAILABLE for results that the function cannot have given
 */
export function resultText({ results: types }: WasmFunctionExport, results: readonly WasmNumber[]): string {
  if (results.length !== types.length || !types.every((type, index) => isOf[type](results[index]))) {
    throw wrongResults()
  }
  const [first] = results
  if (first === undefined) return 'null'
  return results.length === 1 ? numberText(first) : `[${results.map(numberText).join()}]`
}

const isOf: Readonly<Record<WasmValueType, (value: unknown) => boolean>> = {
  i32: (value) => typeof value === 'number' && (value | 0) === value,
  i64: (value) =>
    typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value),
  f32: (value) => typeof value === 'number',
  f64: (value) => typeof value === 'number',
}

function numberText(value: WasmNumber): string {
  if (typeof value === 'bigint') {
    return Number.isSafeInteger(Number(value)) ? `${value}` : `"${value}"`
  }
  if (!Number.isFinite(value)) return `"${value}"`
  return Object.is(value, -0) ? '-0' : `${value}`
}

/** Runtimes may come from third parties, so their results are checked. */
function wrongResults(): NodekeepError {
  return new NodekeepError(
    'SERVICE_UNAVAILABLE',
    'The wasm runtime of this node gave results that the function cannot have. Its owner can load another plugin for that, such as "wasm-native".',
    { permanent: true },
  )
}
