import type {
  BackupEntry,
  NodeInfo,
  NodeRestores,
  RegistryReader,
  StorageBackend,
} from '@nodekeep/plugin-sdk'
import type { BackupHeader, PlacedFolder } from '../archive/backup-header.ts'
import type { NodeSnapshot } from './node-snapshot.ts'

/** An entry of an archive of a whole node. Its path begins with the name of its participant. */
export interface NodeEntry extends BackupEntry {
  /** Whether another program changed the file while it was read. */
  readonly changed: () => boolean
}

/** The node, as the header of an archive describes it. */
export interface DescribedNode {
  readonly info: NodeInfo
  readonly restores: Pick<NodeRestores, 'folders'>
  readonly backends: Pick<RegistryReader<StorageBackend>, 'ownerOf'>
}

/** The content of an archive. */
export interface NodeContent {
  readonly header: Omit<BackupHeader, 'format'>
  readonly entries: AsyncIterable<NodeEntry>
}

/** Returns the content of an archive of a whole node: the entries of all participants, each below the folder of its participant. */
export async function contentOf(snapshot: NodeSnapshot, node: DescribedNode): Promise<NodeContent> {
  const { info } = node
  const header = {
    nodekeep: info.version,
    created: snapshot.moment.toISOString(),
    plugins: info.plugins(),
    omitted: snapshot.omitted,
    folders: await placedFolders(snapshot, node),
    mounts: mountsOf(snapshot),
  }
  return { header, entries: entriesOf(snapshot) }
}

/** The state, with the list of users, comes first: whoever takes the files of one user out of an archive needs it before. */
async function* entriesOf({ parts }: NodeSnapshot): AsyncGenerator<NodeEntry> {
  const rank = ([name]: readonly [string, unknown]) => (name === 'state' ? 0 : 1)
  for (const [name, part] of [...parts].sort((a, b) => rank(a) - rank(b))) {
    for await (const entry of part.entries()) {
      const { path, type, size, modified, created } = entry
      yield {
        path: `${name}/${path}`,
        type,
        size,
        modified,
        ...(created && { created }),
        open: () => entry.open(),
        ...(entry.link && { link: (to) => (entry.link as Required<BackupEntry>['link'])(to) }),
        changed: () => part.changed.includes(path),
      }
    }
  }
}

/** Names the folders by the keys of the configuration: on another machine, they have other paths. */
async function placedFolders(
  { parts }: NodeSnapshot,
  { restores, backends }: DescribedNode,
): Promise<PlacedFolder[]> {
  const known = await restores.folders()
  return [...parts].flatMap(([name, { folders = {} }]) =>
    Object.entries(folders).map(([inner, folder]) => {
      const path = `${name}/${inner}`
      const owner = known.find((one) => one.path === folder)
      if (owner !== undefined) return { path, plugin: owner.plugin, key: owner.key }
      const plugin = backends.ownerOf(inner)
      return { path, ...(plugin !== undefined && { plugin }) }
    }),
  )
}

/** The paths of users, each with the path of the archive that has its files. */
function mountsOf({ parts }: NodeSnapshot): Record<string, string> {
  const mounts = [...parts].flatMap(([name, part]) =>
    Object.entries(part.mounts ?? {}).map(([path, inner]) => [path, `${name}/${inner}`] as const),
  )
  return Object.fromEntries(mounts)
}
