import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { CID } from 'multiformats/cid'

/** Blocks that all answers together remember, at about 100 bytes each. */
const mostRemembered = 1_000_000

/** Remembers which blocks an answer has sent. All answers share its bound. */
export class RememberedBlocks {
  #count = 0

  /** The blocks of one answer. */
  begin(): Disposable & { addIfNew(cid: CID): boolean } {
    const seen = new Set<string>()
    return {
      addIfNew: (cid) => {
        const key = Buffer.from(cid.bytes).toString('latin1')
        if (seen.has(key)) return false
        if (this.#count >= mostRemembered)
          throw new NodekeepError(
            'SERVICE_UNAVAILABLE',
            'The node sends too many blocks at this time. Ask with "dups=y".',
            {
              headers: { 'retry-after': '30' },
            },
          )
        this.#count += 1
        seen.add(key)
        return true
      },
      [Symbol.dispose]: () => {
        this.#count -= seen.size
        seen.clear()
      },
    }
  }
}
