import { NodekeepError } from '@nodekeep/plugin-sdk'

/** @param size bytes that it has, where that is known */
export function moduleTooLarge(most: number, size?: number): NodekeepError {
  const has = size === undefined ? '' : ` It has ${size} bytes.`
  return new NodekeepError(
    'PAYLOAD_TOO_LARGE',
    `File too large: a module may have at most ${most} bytes (wasm.moduleMB).${has}`,
  )
}

export function moduleIsFolder(path: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `"${path}" is a folder. Name the file of a module.`)
}

/** For the moment between the look at a file and its reading. */
export function moduleChanged(): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The module was replaced just now. Try again.', {
    headers: { 'retry-after': '1' },
  })
}
