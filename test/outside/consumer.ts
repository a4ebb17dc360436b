import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { outcome, root, startProgram } from '../run/command.ts'

/** A folder outside the repository, on a machine that has Node and npm and nothing to compile with. */
export interface Consumer {
  readonly folder: string
  /** What its programs run with: a PATH of node, npm, npx and sh. */
  readonly env: NodeJS.ProcessEnv
  /** Runs a program to its end, and answers or rejects with what it printed. */
  run(program: string, ...args: string[]): Promise<string>
  /** Copies the sources of an example into the folder, as its author has them, and answers where. */
  copyExample(name: string): Promise<string>
  remove(): Promise<void>
}

/** Makes a consumer whose package.json depends on these tarballs, and installs them. Install scripts may run. */
export async function installConsumer(tarballs: ReadonlyMap<string, string>): Promise<Consumer> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'nodekeep-consumer-')))
  const path = await bareTools(join(folder, '.tools'))
  const env = { ...withoutScriptSettings(process.env), PATH: path }
  const consumer: Consumer = {
    folder,
    env,
    async run(program, ...args) {
      const { ok, output } = await outcome(startProgram(program, args, { cwd: folder, env }))
      if (!ok) throw new Error(`${program} ${args.join(' ')} failed:\n${output}`)
      return output
    },
    async copyExample(name) {
      const copy = join(folder, name)
      await cp(join(root, 'examples', name), copy, {
        recursive: true,
        filter: (source) => !/[\\/](node_modules|dist)$/.test(source),
      })
      return copy
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
  await cp(fileURLToPath(new URL('fixtures/consumer', import.meta.url)), folder, { recursive: true })
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({
      name: 'consumer',
      private: true,
      type: 'module',
      dependencies: Object.fromEntries([...tarballs].map(([name, tarball]) => [name, `file:${tarball}`])),
      devDependencies: { '@types/node': '*' },
    }),
  )
  await consumer.run(
    'npm',
    'install',
    '--ignore-scripts=false',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
  )
  return consumer
}

/** A folder of links to the few programs that a consumer has. */
async function bareTools(folder: string): Promise<string> {
  await mkdir(folder)
  const tools = { node: process.execPath, npm: await locate('npm'), npx: await locate('npx'), sh: '/bin/sh' }
  for (const [name, target] of Object.entries(tools)) await symlink(target, join(folder, name))
  return folder
}

async function locate(program: string): Promise<string> {
  const { stdout } = await promisify(execFile)('which', [program], { encoding: 'utf8' })
  return realpath(stdout.trim())
}

/** npm tells the scripts that it runs about the repository's package; a new npm must not take that for its own. */
function withoutScriptSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const about =
    /^(npm_(lifecycle|package|command|execpath|node_execpath|config_local_prefix)|INIT_CWD$|NODE_OPTIONS$|TAP|_TAPJS)/
  return Object.fromEntries(Object.entries(env).filter(([name]) => !about.test(name)))
}
