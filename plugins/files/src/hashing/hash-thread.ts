/** The thread that hashes files. */
import { createHash } from 'node:crypto'
import { workOnStreams } from '@nodekeep/plugin-sdk/threads'

workOnStreams<null, string>(() => {
  const hash = createHash('sha256')
  return {
    add: (bytes) => hash.update(bytes),
    end: () => hash.digest('hex'),
  }
})
