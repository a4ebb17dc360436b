import {
  type NodeRestart,
  type NodeRestores,
  type RegistryReader,
  type Static,
  type StorageBackend,
  Type,
} from '@nodekeep/plugin-sdk'
import { maxListed } from './differences.ts'
import type { RestoreFolder, RestoreFolders } from './restore-folder.ts'

/** The parts of the node that a restore needs. */
export interface RestoreServices {
  readonly dataFolder: string
  readonly folders: RestoreFolders
  readonly restores: NodeRestores
  readonly backends: RegistryReader<StorageBackend>
  readonly control: NodeRestart
  /** Resolves when the restore that the start has applied is finished. */
  readonly finished: Promise<void>
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

const name = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const user = Type.Object({
  username: Type.String(),
  wallet: Type.String({ description: 'The wallet with which the user signs in.' }),
})
const owner = (description: string) => Type.Union([user, Type.Null()], { description })
const excerpt = <Item extends Type.TSchema>(item: Item, description: string) =>
  Type.Object({ count: Type.Integer(), first: Type.Array(item, { maxItems: maxListed }) }, { description })

/** The choices of the person who restores a backup, in the body of a request. */
export const restoreChoices = {
  key: Type.Optional(
    Type.String({
      maxLength: 10_000,
      description: 'The secret half of a recovery key, for an encrypted backup.',
    }),
  ),
  newIdentity: Type.Boolean({
    default: false,
    description: 'Whether the node gets a new identity, and not that of the backup.',
  }),
  without: Type.Array(Type.String(), {
    default: [],
    maxItems: 100,
    description: 'Storages of the backup whose files are not restored.',
  }),
}

/** A restore that is prepared: the changes that it would make, and whether it is planned. */
export const restoreAnswer = Type.Object({
  success: Type.Boolean(),
  prepared: Type.String({ description: 'The name of the prepared restore.' }),
  planned: Type.Boolean({ description: 'Whether the next start of the node applies it.' }),
  replaces: name('The backup whose restore was planned before, and is not any more.'),
  supervised: Type.Boolean({ description: 'Whether `restart` works here.' }),
  moment: Type.String({ format: 'date-time', description: 'The moment of the state of the backup.' }),
  addedUsers: excerpt(Type.String(), 'Names of users whom only the backup has.'),
  removedUsers: excerpt(Type.String(), 'Names of users whom only the node has.'),
  changedUsers: excerpt(
    Type.Object({ present: user, restored: user }),
    'Users of both who have another name or another wallet in the backup.',
  ),
  owner: Type.Object({ present: owner('The present owner.'), restored: owner('The owner in the backup.') }),
  plugins: excerpt(
    Type.String(),
    'Plugins whose state is another one, or that have files or databases, which are replaced.',
  ),
  identity: Type.String({
    description:
      '`same`: the identity of the backup, which the node has now. `another`: the node takes it over, and the node that had it must not run any more. `new`: a new one. `present`: the backup has none.',
  }),
})

/** Describes a restore that is ready. */
export function describeRestore(
  { name, record }: RestoreFolder,
  more: Pick<Static<typeof restoreAnswer>, 'planned' | 'replaces' | 'supervised'>,
): Static<typeof restoreAnswer> {
  const { moment, differences } = record
  if (differences === undefined) throw new Error('A restore that is ready has no differences.')
  return { success: true, prepared: name, ...more, moment, ...differences }
}
