import type { WasmNumber } from '@nodekeep/plugin-sdk'
import type { FrameReader } from './frame-reader.ts'
import type { FrameWriter } from './frame-writer.ts'

/** Each number is nine bytes: how it is written, then a float64 or the 64 bits of an integer. */
const float = 0
const integer = 1

/** A number that is no bigint arrives as it is, −0 and infinities too; of a NaN only that it is one. */
export function writeValues(frame: FrameWriter, values: readonly WasmNumber[]): void {
  frame.uint32(values.length)
  for (const value of values) {
    if (typeof value === 'bigint') {
      frame.uint8(integer)
      frame.int64(value)
    } else {
      frame.uint8(float)
      frame.float64(value)
    }
  }
}

export function readValues(frame: FrameReader): WasmNumber[] {
  const values: WasmNumber[] = []
  for (let left = frame.uint32(); left > 0; left -= 1) {
    values.push(frame.uint8() === integer ? frame.int64() : frame.float64())
  }
  return values
}
