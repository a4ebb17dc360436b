import { escaped, xmlHead } from './xml.ts'

/** The beginning and the end of an answer about several files (RFC 4918, section 13). */
export const multistatusBegin = `${xmlHead}<D:multistatus xmlns:D="DAV:">\n`
export const multistatusEnd = '</D:multistatus>\n'

const statusTexts = {
  200: '200 OK',
  403: '403 Forbidden',
  404: '404 Not Found',
  409: '409 Conflict',
  423: '423 Locked',
  424: '424 Failed Dependency',
  507: '507 Insufficient Storage',
} as const

/** A status that one of several files or properties can have. */
export type PartStatus = keyof typeof statusTexts

/** Properties with the same status (RFC 4918, section 14.22). */
interface PropertyGroup {
  readonly status: PartStatus
  /** XML elements. */
  readonly properties: readonly string[]
  /** Such as `cannot-modify-protected-property`. */
  readonly condition?: string
  /** A message for people. */
  readonly description?: string
}

/** The answer about the properties of one file or folder. Its address is percent-encoded, so it has no character that XML would need escaped. */
export function propertyResponse(href: string, groups: readonly PropertyGroup[]): string {
  const parts = groups.map(({ status, properties, condition, description }) => {
    const error = condition === undefined ? '' : `<D:error><D:${condition}/></D:error>`
    const text =
      description === undefined
        ? ''
        : `<D:responsedescription>${escaped(description)}</D:responsedescription>`
    return `<D:propstat><D:prop>${properties.join('')}</D:prop>${statusOf(status)}${error}${text}</D:propstat>`
  })
  return `<D:response><D:href>${href}</D:href>${parts.join('')}</D:response>\n`
}

/** The answer that one of several files or folders has a status. */
export function statusResponse(href: string, status: PartStatus): string {
  return `<D:response><D:href>${href}</D:href>${statusOf(status)}</D:response>\n`
}

function statusOf(status: PartStatus): string {
  return `<D:status>HTTP/1.1 ${statusTexts[status]}</D:status>`
}
