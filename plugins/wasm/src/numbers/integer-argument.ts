import type { WasmNumber } from '@nodekeep/plugin-sdk'

/** A decimal integer of at most 20 digits, which every 64-bit integer fits into. */
const decimal = /^-?\d{1,20}$/

const least64 = -(2n ** 63n)
const most64 = 2n ** 64n - 1n

/**
 * An integer from JSON. WebAssembly's integers have no sign of their own: 32 ones are -1 or 4294967295. Both ways to
 * write them are taken, as in the text format; the runtime gets the signed one.
 *
 * @returns the number, or what it should have been
 */
export function integerArgument(value: unknown, type: 'i32' | 'i64'): WasmNumber | string {
  if (type === 'i64') return longInteger(value)
  if (typeof value === 'number' && Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 32) {
    return value | 0
  }
  return 'an integer from -2147483648 to 4294967295'
}

function longInteger(value: unknown): WasmNumber | string {
  if (typeof value === 'number') {
    // Adding 0 makes a negative zero, which integers don't have, a plain one.
    if (Number.isSafeInteger(value)) return value + 0
    return 'an integer; write one beyond ±9007199254740991 as a text of decimal digits'
  }
  if (typeof value === 'string' && decimal.test(value)) {
    const integer = BigInt(value)
    if (integer >= least64 && integer <= most64) return narrowed(BigInt.asIntN(64, integer))
  }
  return 'an integer or a text of decimal digits, from -9223372036854775808 to 18446744073709551615'
}

/** As a number where a number holds it exactly. */
function narrowed(integer: bigint): WasmNumber {
  const number = Number(integer)
  return Number.isSafeInteger(number) ? number : integer
}
