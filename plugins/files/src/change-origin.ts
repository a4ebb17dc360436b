import { type ChangeMaker, changeGroupPattern, type FileChangeOptions, invalid } from '@nodekeep/plugin-sdk'
import { byOtherPrograms } from './journal/change.ts'
import { definedOnly } from './operations/defined-only.ts'

/** Characters in the name of a device. */
const longestDeviceName = 100
/** Characters in the id and in the name of a maker. */
const longestMakerId = 100
const longestMakerName = 255
const groupPattern = new RegExp(changeGroupPattern)

const makerKinds: readonly unknown[] = [
  'session',
  'token',
  'program',
  'plugin',
] satisfies ChangeMaker['kind'][]

/**
 * The origin of changes, of all options.
 *
 * @throws NodekeepError VALIDATION_ERROR for a name of a device that stands for other programs, and for parts of another form: a plugin in
 *   JavaScript may pass anything
 */
export function originOf({ by, maker, group }: FileChangeOptions): FileChangeOptions {
  if (by !== undefined && !isText(by, longestDeviceName))
    throw invalid(`The name of the device must be text of 1 to ${longestDeviceName} characters.`)
  if (by === byOtherPrograms)
    throw invalid(
      `"${byOtherPrograms}" stands for the changes of other programs. Give the device another name.`,
    )
  if (group !== undefined && !(typeof group === 'string' && groupPattern.test(group)))
    throw invalid('The group of a change must be 1 to 64 letters, digits, "-", "_" and ".".')
  return definedOnly({ by, maker: maker === undefined ? undefined : makerOf(maker), group })
}

/** The parts of a maker, and nothing else: the journal keeps it as JSON. */
function makerOf({ kind, id, name, user }: ChangeMaker): ChangeMaker {
  const isValid =
    makerKinds.includes(kind) &&
    isText(id, longestMakerId) &&
    (name === undefined || isText(name, longestMakerName)) &&
    (user === undefined || isText(user, longestMakerId))
  if (!isValid) throw invalid('The maker of a change has no valid kind, id, name or user.')
  return { kind, id, ...definedOnly({ name, user }) }
}

function isText(text: unknown, longest: number): boolean {
  return typeof text === 'string' && text !== '' && text.length <= longest
}
