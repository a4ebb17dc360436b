import { randomUUID } from 'node:crypto'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { readJson, writeJson } from '@nodekeep/plugin-sdk/durable-files'

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
  const stored = await readJson<Partial<Settings>>(join(settingsFolder(), 'settings.json'))
  return { tokens: {}, folders: {}, ...stored }
}

/** Changes the settings as a whole: a killed command leaves the former ones. */
export async function changeSettings(change: (settings: Settings) => Settings): Promise<void> {
  const folder = settingsFolder()
  const settings = change(await readSettings())
  // Two commands may change the settings at a time.
  const draft = join(folder, `settings-${randomUUID()}`)
  await writeJson(join(folder, 'settings.json'), settings, draft)
}
