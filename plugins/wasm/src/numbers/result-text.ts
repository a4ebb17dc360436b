import {
  NodekeepError,
  type WasmFunctionExport,
  type WasmNumber,
  type WasmValueType,
} from '@nodekeep/plugin-sdk'

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
