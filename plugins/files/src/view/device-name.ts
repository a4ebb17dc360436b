import { type FileChangeOptions, NodekeepError } from '@nodekeep/plugin-sdk'

/** Characters in the name of what makes a change. */
const longest = 100

/** @throws NodekeepError VALIDATION_ERROR when the name of what makes the change is too long or empty, or no text */
export function checkDeviceName<T extends FileChangeOptions>(options: T | undefined): T | undefined {
  const by = options?.by
  if (by !== undefined && (typeof by !== 'string' || by === '' || by.length > longest)) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      `The name of the device must be text of 1 to ${longest} characters.`,
    )
  }
  return options
}
