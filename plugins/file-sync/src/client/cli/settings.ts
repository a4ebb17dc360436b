import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** The settings that the command keeps for a person. The file is for them alone, because it has tokens. */
interface Settings {
  /** Tokens by the origin of the node. */
  readonly tokens: Readonly<Record<string, string>>
  /** The origins of the nodes by the absolute paths of the synced folders. */
  readonly folders: Readonly<Record<string, string>>
}

/** The folder of the settings: https://specifications.freedesktop.org/basedir-spec/latest/ */
function settingsFolder(): string {
  const { XDG_CONFIG_HOME: given = '' } = process.env
  return join(isAbsolute(given) ? given : join(homedir(), '.config'), 'nodekeep-sync')
}

export async function readSettings(): Promise<Settings> {
  const text = await readFile(join(settingsFolder(), 'settings.json'), 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '{}'
    throw error
  })
  return { tokens: {}, folders: {}, ...(JSON.parse(text) as Partial<Settings>) }
}

/** Changes the settings as a whole: a killed command leaves the former ones. */
export async function changeSettings(change: (settings: Settings) => Settings): Promise<void> {
  const folder = settingsFolder()
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const settings = change(await readSettings())
  const temporary = join(folder, `settings-${randomUUID()}`)
  await writeFile(temporary, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600, flush: true })
  await rename(temporary, join(folder, 'settings.json'))
}
