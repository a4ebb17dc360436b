import { isNodekeepError, messageOf } from '@nodekeep/plugin-sdk'
import type { FastifyReply } from 'fastify'
import { hrefOf } from '../dav-paths.ts'
import type { DavRequest } from '../dav-request.ts'
import { type PartStatus, propertyResponse } from '../multistatus.ts'
import { entryIdAt } from '../properties/carried-properties.ts'
import {
  liveProperties,
  modified,
  modifiedInWindows,
  modifiedSeconds,
} from '../properties/live-properties.ts'
import { type PropertyChange, parseProppatch } from '../properties/property-request.ts'
import { setModified, timeOfProperty } from '../properties/set-modified.ts'
import { emptyElement } from '../xml.ts'
import { sendMultistatus } from './propfind.ts'

/** Properties that set the time of a file. The node computes all others of its own, so clients cannot set them. */
const settable: readonly string[] = [modified, modifiedSeconds, modifiedInWindows]

/** The result for a property. */
interface Result {
  readonly status: PartStatus
  readonly condition?: string
  readonly description?: string
}

/** Why a property cannot be changed. */
type Refusal = Result & { readonly description: string }

const done: Result = { status: 200 }
const dependent: Result = { status: 424, description: 'Another property cannot be changed.' }

/** Answers PROPPATCH (RFC 4918, section 9.2): all of the changes are made, or none. */
export async function proppatch(dav: DavRequest, body: Uint8Array): Promise<FastifyReply> {
  const { reply, files, path } = dav
  const changes = await parseProppatch(body)
  const entry = await files.stat(path)
  dav.checkLocks({ changed: [path] })
  const refused = new Map<PropertyChange, Refusal>()
  for (const change of changes) {
    const refusal = refusalOf(change)
    if (refusal !== null) refused.set(change, refusal)
  }
  if (refused.size === 0) {
    const refusal = await makeChanges(dav, changes)
    if (refusal !== null) for (const change of changes) refused.set(change, refusal)
  }
  const href = hrefOf(path, entry.type === 'directory')
  await sendMultistatus(reply, [propertyResponse(href, groupsOf(changes, refused))])
  return reply
}

function refusalOf({ name, value }: PropertyChange): Refusal | null {
  if (!liveProperties.has(name)) return null
  if (settable.includes(name) && value !== null) {
    return timeOfProperty(name, value.text) === null
      ? { status: 409, description: 'This is not the time of a file.' }
      : null
  }
  return {
    status: 403,
    condition: 'cannot-modify-protected-property',
    description: 'The node computes this property itself.',
  }
}

async function makeChanges(dav: DavRequest, changes: readonly PropertyChange[]): Promise<Refusal | null> {
  const { services, user, path } = dav
  const times = changes.filter(({ name }) => settable.includes(name))
  const dead = new Map(
    changes.filter((change) => !times.includes(change)).map(({ name, value }) => [name, value?.xml ?? null]),
  )
  try {
    if (dead.size > 0) {
      const id = await entryIdAt(dav, path)
      if (id === null && [...dead.values()].some((xml) => xml !== null))
        return { status: 409, description: 'The node does not keep properties of this folder, or not yet.' }
      if (id !== null) services.properties.change(user.uuid, id, dead)
    }
  } catch (error) {
    if (!isNodekeepError(error) || error.code !== 'INSUFFICIENT_STORAGE') throw error
    return { status: 507, description: messageOf(error) }
  }
  const { name, value } = times.at(-1) ?? {}
  const time = name === undefined ? null : timeOfProperty(name, value?.text ?? '')
  if (time !== null) await setModified(dav, time)
  return null
}

/** Properties with the same result are one group. */
function groupsOf(changes: readonly PropertyChange[], refused: ReadonlyMap<PropertyChange, Refusal>) {
  const groups = new Map<string, Result & { readonly properties: string[] }>()
  for (const change of changes) {
    const result = refused.size === 0 ? done : (refused.get(change) ?? dependent)
    const key = `${result.status} ${result.description}`
    const group = groups.get(key) ?? { ...result, properties: [] }
    group.properties.push(emptyElement(change.name))
    groups.set(key, group)
  }
  return [...groups.values()]
}
