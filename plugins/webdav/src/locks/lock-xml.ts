import { hrefOf } from '../dav-paths.ts'
import type { Lock } from './locks.ts'

/** The value of the property `supportedlock` (RFC 4918, section 15.10). */
export const supportedLocks = ['exclusive', 'shared']
  .map(
    (scope) =>
      `<D:lockentry><D:lockscope><D:${scope}/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>`,
  )
  .join('')

/** The value of the property `lockdiscovery` (RFC 4918, section 15.8). */
export function lockDiscovery(locks: readonly Lock[]): string {
  return locks.map(activeLock).join('')
}

function activeLock({ token, path, isDeep, isShared, owner, expires }: Lock): string {
  const left = Math.max(0, Math.ceil((expires.getTime() - Date.now()) / 1000))
  const parts = [
    '<D:locktype><D:write/></D:locktype>',
    `<D:lockscope><D:${isShared ? 'shared' : 'exclusive'}/></D:lockscope>`,
    `<D:depth>${isDeep ? 'infinity' : '0'}</D:depth>`,
    owner,
    `<D:timeout>Second-${left}</D:timeout>`,
    `<D:locktoken><D:href>${token}</D:href></D:locktoken>`,
    `<D:lockroot><D:href>${hrefOf(path, false)}</D:href></D:lockroot>`,
  ]
  return `<D:activelock>${parts.join('')}</D:activelock>`
}
