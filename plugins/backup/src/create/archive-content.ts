import type { BackupEntry, NodeInfo } from '@nodekeep/plugin-sdk'
import type { BackupHeader } from '../archive/backup-header.ts'
import type { NodeSnapshot } from './node-snapshot.ts'

/** An entry of an archive of a whole node. Its path begins with the name of its participant. */
export interface NodeEntry extends BackupEntry {
  /** Whether another program changed the file while it was read. */
  readonly changed: () => boolean
}

/** Returns the content of an archive of a whole node: the entries of all participants, each below the folder of its participant. */
export function contentOf(
  snapshot: NodeSnapshot,
  info: NodeInfo,
): { readonly header: Omit<BackupHeader, 'format'>; readonly entries: AsyncIterable<NodeEntry> } {
  const omitted = [...snapshot.parts].flatMap(([name, part]) =>
    part.omitted.map(({ what, why }) => ({ what: `${name}: ${what}`, why })),
  )
  const header = {
    nodekeep: info.version,
    created: snapshot.moment.toISOString(),
    plugins: info.plugins(),
    omitted,
  }
  return { header, entries: entriesOf(snapshot) }
}

async function* entriesOf({ parts }: NodeSnapshot): AsyncGenerator<NodeEntry> {
  for (const [name, part] of parts) {
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
