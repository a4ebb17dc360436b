import type { IncomingHttpHeaders } from 'node:http'
import { invalid } from '@nodekeep/plugin-sdk'

/** First and last byte of a file. Negative numbers count from its end. */
export interface EntityBytes {
  readonly from: number
  /** `null` for the last byte of the file. */
  readonly to: number | null
}

/** The blocks that a CAR has of the target of a path: the first one, those of the file or of the list of the folder, or all. */
type DagScope = 'block' | 'entity' | 'all'

export interface CarRepresentation {
  readonly kind: 'car'
  readonly scope: DagScope
  readonly bytes: EntityBytes | null
  /** Whether a block is sent as often as something links to it. */
  readonly hasDuplicates: boolean
}

/** The form of an answer. */
type Representation = { readonly kind: 'plain' } | { readonly kind: 'raw' } | CarRepresentation

const types = { 'application/vnd.ipld.raw': 'raw', 'application/vnd.ipld.car': 'car' } as const

/**
 * Returns the form that a request wants, by its query or else by its `accept` header
 * (https://specs.ipfs.tech/http-gateways/trustless-gateway/).
 *
 * @throws NodekeepError VALIDATION_ERROR for a form that the node does not have
 */
export function representation(query: URLSearchParams, { accept = '' }: IncomingHttpHeaders): Representation {
  const accepted = acceptedType(accept)
  const format = query.get('format') ?? accepted?.kind ?? 'plain'
  if (format === 'plain' || format === 'raw') return { kind: format }
  if (format !== 'car') throw invalid('"format" must be "raw" or "car".')
  const parameter = (name: string) =>
    query.get(`car-${name}`) ?? (accepted?.kind === 'car' ? accepted.parameters.get(name) : null) ?? null
  refuseOther('The version of the CAR', parameter('version'), ['1'])
  refuseOther('The order of the blocks', parameter('order'), ['dfs', 'unk'])
  refuseOther('"dups"', parameter('dups'), ['y', 'n'])
  const scope = query.get('dag-scope')
  refuseOther('"dag-scope"', scope, ['block', 'entity', 'all'])
  const bytes = entityBytes(query.get('entity-bytes'))
  return {
    kind: 'car',
    scope: (scope as DagScope | null) ?? (bytes === null ? 'all' : 'entity'),
    bytes,
    hasDuplicates: parameter('dups') === 'y',
  }
}

/** The first type of IPLD that an `accept` header names, with its parameters. */
function acceptedType(
  accept: string,
): { readonly kind: 'raw' | 'car'; readonly parameters: ReadonlyMap<string, string> } | null {
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    if (!Object.hasOwn(types, type)) continue
    const pairs = parameters.map((parameter) => {
      const [name = '', value = ''] = parameter.split('=', 2)
      return [name.trim(), value.trim().replace(/^"(.*)"$/, '$1')] as const
    })
    return { kind: types[type as keyof typeof types], parameters: new Map(pairs) }
  }
  return null
}

function refuseOther(what: string, value: string | null, known: readonly string[]): void {
  if (value !== null && !known.includes(value))
    throw invalid(`${what} must be ${known.map((each) => `"${each}"`).join(' or ')}.`)
}

function entityBytes(text: string | null): EntityBytes | null {
  if (text === null) return null
  const [, from, to] = /^(-?\d{1,15}):(-?\d{1,15}|\*)$/.exec(text) ?? []
  if (from === undefined) throw invalid('"entity-bytes" must be two numbers, such as "0:1023", or "0:*".')
  return { from: Number(from), to: to === '*' ? null : Number(to) }
}
