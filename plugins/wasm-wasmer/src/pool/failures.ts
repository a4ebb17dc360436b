import { NodekeepError, type WasmLimits } from '@nodekeep/plugin-sdk'

export function timeLimitReached({ timeoutMs }: WasmLimits): NodekeepError {
  return new NodekeepError('UNPROCESSABLE', `The time limit of ${timeoutMs} ms was reached.`)
}

export function memoryLimitReached({ memoryBytes }: WasmLimits): NodekeepError {
  const mebibytes = Math.floor(memoryBytes / 2 ** 20)
  return new NodekeepError('UNPROCESSABLE', `The memory limit of ${mebibytes} MiB was reached.`)
}

/** @param how for the log */
export function sandboxDied(how: string): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The sandbox of the program ended too soon. Try again.', {
    cause: new Error(`The sandbox ended: ${how}.`),
    headers: { 'retry-after': '1' },
  })
}

export function runtimeStopped(): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The node is stopping.', {
    headers: { 'retry-after': '5' },
  })
}
