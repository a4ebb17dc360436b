import { nameOf, type StorageEntry } from '@nodekeep/plugin-sdk'
import { childOf, parentOf, type UserPath, userPath } from '../paths/user-path.ts'

/** Bytes of a name. */
const longestName = 255
/** Bytes after the last dot of a name that count as the type of the file. */
const longestType = 32

/**
 * A name beside a path, such as `cat (2).jpg`. The stem is cut if the name would be too long.
 *
 * @throws NodekeepError VALIDATION_ERROR if the path is too long
 */
export function freeName(path: UserPath, type: StorageEntry['type'], number: number): UserPath {
  const name = nameOf(path)
  const dot = type === 'file' ? name.lastIndexOf('.') : -1
  const hasType = dot > 0 && Buffer.byteLength(name.slice(dot)) <= longestType
  const end = ` (${number})${hasType ? name.slice(dot) : ''}`
  const stem = [...(hasType ? name.slice(0, dot) : name)]
  while (Buffer.byteLength(stem.join('') + end) > longestName) stem.pop()
  return userPath(childOf(parentOf(path), stem.join('') + end))
}
