import type { Log, RegistryReader, StorageBackend } from '@nodekeep/plugin-sdk'
import type { Mounts } from './mounts.ts'

/** Tells the log of every mount whose backend nobody provides: a name may be misspelt, or a plugin not loaded. */
export function warnOfMissingBackends(
  mounts: Mounts,
  backends: RegistryReader<StorageBackend>,
  log: Pick<Log, 'warn'>,
): void {
  const names = backends.names().map((name) => `"${name}"`)
  const known = names.length === 0 ? 'There is none.' : `There are: ${names.join(', ')}.`
  for (const [mount, name] of mounts.all) {
    if (backends.has(name)) continue
    log.warn(
      { mount },
      `No plugin provides the storage backend "${name}" of "${mount}", so nothing there can be read or written. ${known} ` +
        'Correct storage.mounts, or load the plugin that brings it.',
    )
  }
}
