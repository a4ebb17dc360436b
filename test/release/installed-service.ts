import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The programs and files that the unit of a service names. All paths are those of this machine. */
interface InstalledService {
  readonly unit: string
  readonly launcher: string
  readonly args: readonly string[]
  /** The variables that the unit sets. */
  readonly env: Readonly<Record<string, string>>
  readonly data: string
}

/**
 * Reads the unit that `service install --root` has written. Tests run it without systemd.
 *
 * @param machine the folder that stands for `/`
 */
export async function serviceOf(machine: string): Promise<InstalledService> {
  const unit = await readFile(join(machine, 'etc/systemd/system/nodekeep.service'), 'utf8')
  const at = (path: string) => join(machine, path)
  const values = (key: string) =>
    [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value)
  const [launcher = '', ...args] = (values('ExecStart')[0] ?? '').split(' ').map(at)
  const variables = values('Environment').map((line) => line.split('=', 2) as [string, string])
  const env = Object.fromEntries(variables.map(([name, path]) => [name, at(path)]))
  return { unit, launcher, args, env, data: env.NODEKEEP_DATA ?? '' }
}
