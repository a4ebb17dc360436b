import { existsSync } from 'node:fs'
import { chmod, mkdir, open, readdir, rename, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type RestoredEntry, restoredEntriesFile } from '@nodekeep/plugin-sdk'
import { emptyFolder } from '@nodekeep/plugin-sdk/archive'
import { syncFolder } from '@nodekeep/plugin-sdk/durable-files'
import { kernelParts } from '../archive/backup-header.ts'
import { jsonLine, manifestEntries } from '../archive/manifest.ts'
import { Sample, type SampleRule } from '../archive/sample.ts'
import type { RestoreFolder } from './restore-folder.ts'
import type { RestoredStorage } from './restored-storages.ts'
import { foldersIn } from './unpacked-layout.ts'

/** Brings what was unpacked into the form in which it is put in place, by renames. */
export async function arrangeUnpacked(
  { path }: RestoreFolder,
  storages: readonly RestoredStorage[],
  sample: SampleRule | undefined,
): Promise<void> {
  const [unpacked, fresh] = [join(path, 'unpacked'), join(path, 'new')]
  const plugins = join(fresh, 'plugins')
  await rename(join(unpacked, 'state', 'state.sqlite'), join(fresh, 'state.sqlite'))
  await chmod(join(fresh, 'state.sqlite'), 0o600)
  if (existsSync(join(unpacked, 'state', 'plugins')))
    await rename(join(unpacked, 'state', 'plugins'), plugins)
  else await mkdir(plugins)

  for (const { name, path: archived, place } of storages) {
    if (place !== 'left-out' || !existsSync(join(unpacked, archived))) continue
    await mkdir(join(path, 'left-out'), { recursive: true, mode: 0o700 })
    await rename(join(unpacked, archived), join(path, 'left-out', name))
  }
  for (const { path: archived, place } of storages) {
    if (place === 'plugin' && existsSync(join(unpacked, archived)))
      await foldersIn(join(unpacked, archived), archived)
  }
  const participants = (await readdir(unpacked, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory() && !kernelParts.has(entry.name))
    .map(({ name }) => name)
  for (const name of participants) {
    // Without the folders of storages, nothing may be left.
    if ((await readdir(join(unpacked, name))).length === 0) continue
    await mkdir(join(plugins, name), { recursive: true })
    await rename(join(unpacked, name), join(plugins, name, 'restored'))
  }
  await listRestoredEntries(join(unpacked, 'manifest.json'), plugins, sample)
  await makePrivate(plugins)

  const key = join(unpacked, 'identity', 'node.key')
  if (existsSync(key)) {
    await rename(key, join(fresh, 'node.key'))
    await chmod(join(fresh, 'node.key'), 0o600)
  }
  const configuration = join(unpacked, 'configuration')
  if (existsSync(configuration)) await rename(configuration, join(path, 'configuration'))
  await emptyFolder(unpacked)
  await rmdir(unpacked)
  for (const changed of [fresh, path]) await syncFolder(changed)
}

/** Lists the dates of creation of each plugin's files, which a disk cannot be told. */
async function listRestoredEntries(
  manifest: string,
  plugins: string,
  rule: SampleRule | undefined,
): Promise<void> {
  const sample = rule && new Sample(rule)
  const batches = new Map<string, string[]>()
  const store = async (participant: string, lines: string[]) => {
    await mkdir(join(plugins, participant), { recursive: true })
    const file = await open(join(plugins, participant, restoredEntriesFile), 'a', 0o600)
    try {
      await file.write(lines.splice(0).join(''))
      await file.sync()
    } finally {
      await file.close()
    }
  }
  for await (const manifestEntry of manifestEntries(manifest)) {
    const { path, type, size, modified, created = modified } = manifestEntry
    if (sample?.includes(manifestEntry) === false) continue
    const slash = path.indexOf('/')
    const participant = path.slice(0, slash)
    if (type !== 'file' || slash < 0 || kernelParts.has(participant)) continue
    const entry: RestoredEntry = { path: path.slice(slash + 1), size, modified, created }
    const lines = batches.get(participant) ?? []
    batches.set(participant, lines)
    if (lines.push(`${jsonLine(entry)}\n`) === 1000) await store(participant, lines)
  }
  for (const [participant, lines] of batches) if (lines.length > 0) await store(participant, lines)
}

/** Gives the folders and databases of plugins the rights with which the node makes them. */
async function makePrivate(plugins: string): Promise<void> {
  await chmod(plugins, 0o700)
  for (const plugin of await readdir(plugins)) {
    const folder = join(plugins, plugin)
    await chmod(folder, 0o700)
    for (const name of await readdir(folder)) {
      if (name.endsWith('.sqlite')) await chmod(join(folder, name), 0o600)
    }
    await syncFolder(folder)
  }
  await syncFolder(plugins)
}
