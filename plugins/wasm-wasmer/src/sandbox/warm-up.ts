import { setImmediate } from 'node:timers/promises'
import { runProgram } from './program.ts'
import type { Sdk } from './sdk.ts'

/** A program that does nothing: `(module (memory (export "memory") 0) (func (export "_start")))`. */
const nothing = Buffer.from(
  '0061736d0100000001040160000003020100050301000007130206' + '6d656d6f72790200065f737461727400000a040102000b',
  'hex',
)

/**
 * Lets the SDK start its threads before anybody waits for them. It does so with the first program; where there is one
 * already, that is it.
 */
export async function warmUp(sdk: Sdk, isNeeded: () => boolean): Promise<void> {
  // What has arrived meanwhile is read first.
  await setImmediate()
  if (isNeeded()) return
  await runProgram(sdk, { module: nothing, args: [], env: {}, stdin: nothing.subarray(0, 0) }, 0)
}
