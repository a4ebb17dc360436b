import { invalid } from '@nodekeep/plugin-sdk'

/** One condition of the header `if`. */
export interface IfCondition {
  readonly isNegated: boolean
  /** `token`: a lock with this token covers the resource. `etag`: the file has this entity tag, with its quotes. */
  readonly kind: 'token' | 'etag'
  readonly value: string
}

/** A list of the header `if`: all of its conditions must hold. */
interface IfList {
  /** The address of the resource that the list is about; null for that of the request. */
  readonly resource: string | null
  readonly conditions: readonly IfCondition[]
}

/** Lists and conditions of a header. Each may ask the storage for a file. */
const mostParts = 200

const part = /\s*(?:([()])|<([^<>\s]*)>|\[\s*((?:W\/)?"[^"]*")\s*\]|(not)(?=[\s<[]))/iy

/**
 * Parses the header `if` (RFC 4918, section 10.4.2). It holds if one of its lists holds.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export function parseIf(header: string): readonly IfList[] {
  const lists: IfList[] = []
  let resource: string | null = null
  let conditions: IfCondition[] | null = null
  let isNegated = false
  let parts = 0
  part.lastIndex = 0
  while (part.lastIndex < header.trimEnd().length) {
    const [, parenthesis, reference, etag, not] = part.exec(header) ?? []
    parts += 1
    if (parts > mostParts) throw invalid(`The header "if" has more than ${mostParts} parts.`)
    if (parenthesis === '(' && conditions === null) conditions = []
    else if (parenthesis === ')' && conditions !== null && conditions.length > 0 && !isNegated) {
      lists.push({ resource, conditions })
      conditions = null
    } else if (not !== undefined && conditions !== null && !isNegated) isNegated = true
    else if (reference !== undefined && conditions === null) {
      // A resource is followed by a list, and lists without a resource do not mix with others.
      if (resource === null ? lists.length > 0 : lists.at(-1)?.resource !== resource) throw malformed()
      resource = reference
    } else if (conditions !== null && (reference ?? etag) !== undefined) {
      const kind = etag === undefined ? 'token' : 'etag'
      conditions.push({ isNegated, kind, value: reference ?? etag ?? '' })
      isNegated = false
    } else throw malformed()
  }
  if (lists.length === 0 || conditions !== null || lists.at(-1)?.resource !== resource) throw malformed()
  return lists
}

/** The lock tokens that a header names. Each one counts as sent, also within a condition that does not hold. */
export function tokensIn(lists: readonly IfList[]): ReadonlySet<string> {
  const conditions = lists.flatMap((list) => list.conditions)
  return new Set(conditions.filter(({ kind }) => kind === 'token').map(({ value }) => value))
}

function malformed() {
  return invalid('The header "if" is malformed (RFC 4918, section 10.4).')
}
