import type { WasmLimits } from '../contracts/wasm.ts'
import { NodekeepError } from '../errors.ts'

/** The failure of a run that reached its time limit. */
export function timeLimitReached({ timeoutMs }: Pick<WasmLimits, 'timeoutMs'>): NodekeepError {
  return new NodekeepError('UNPROCESSABLE', `The time limit of ${timeoutMs} ms was reached.`)
}

/** The failure of a run that reached its memory limit. */
export function memoryLimitReached({ memoryBytes }: Pick<WasmLimits, 'memoryBytes'>): NodekeepError {
  const mebibytes = Math.floor(memoryBytes / 2 ** 20)
  return new NodekeepError('UNPROCESSABLE', `The memory limit of ${mebibytes} MiB was reached.`)
}

/**
 * The failure of a run whose sandbox ended before the run did.
 *
 * @param how how the process ended; for the log only
 */
export function sandboxEnded(how: string | null): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The sandbox of the run ended too soon. Try again.', {
    cause: new Error(`The sandbox ended: ${how}.`),
    headers: { 'retry-after': '1' },
  })
}

/** The failure of a run whose runtime stops. */
export function runtimeStopped(): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The node is stopping.', {
    headers: { 'retry-after': '5' },
  })
}
