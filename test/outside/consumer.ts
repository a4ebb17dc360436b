import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { packWorkspaces } from '../release/pack.ts'
import { outcome, startProgram } from '../run/command.ts'
import { installationVariable } from '../run/run-folder.ts'

/** A folder outside the repository, on a machine that has Node and npm but no compiler. */
interface Consumer {
  readonly folder: string
  /** The environment of its programs, with a PATH of node, npm and sh. */
  readonly env: NodeJS.ProcessEnv
  /** Runs a program to its end. Resolves or rejects with its output. */
  run(program: string, ...args: string[]): Promise<string>
  /** Copies an example from the package of the SDK into the folder. Resolves with the path of the copy. */
  copyExample(name: string): Promise<string>
}

/**
 * Returns a consumer with our packages: the shared one of this run, in which each test uses its own files, or else one
 * for this test alone.
 */
export async function consumerForTest(t: Pick<Test, 'teardown'>): Promise<Consumer> {
  const shared = process.env[installationVariable]
  if (shared !== undefined) return consumerIn(shared)
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'nodekeep-consumer-')))
  const remove = () => rm(folder, { recursive: true, force: true })
  t.teardown(remove)
  try {
    return await installConsumer(join(folder, 'here'), await packWorkspaces(join(folder, 'packed')))
  } catch (error) {
    // tap does not tear down a test file that ends before its first test.
    await remove()
    throw error
  }
}

/** Creates a consumer whose package.json depends on these tarballs, and installs them. Install scripts may run. */
export async function installConsumer(
  folder: string,
  tarballs: ReadonlyMap<string, string>,
): Promise<Consumer> {
  await mkdir(join(folder, tools), { recursive: true })
  const programs = {
    node: process.execPath,
    npm: await locate('npm'),
    sh: '/bin/sh',
  }
  for (const [name, target] of Object.entries(programs)) await symlink(target, join(folder, tools, name))
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
  const consumer = consumerIn(folder)
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
const tools = '.tools'

function consumerIn(folder: string): Consumer {
  const env = { ...withoutScriptSettings(process.env), PATH: join(folder, tools) }
  return {
    folder,
    env,
    async run(program, ...args) {
      const { ok, output } = await outcome(startProgram(program, args, { cwd: folder, env }))
      if (!ok) throw new Error(`${program} ${args.join(' ')} failed:\n${output}`)
      return output
    },
    async copyExample(name) {
      const copy = join(folder, name)
      await cp(join(folder, 'node_modules/@nodekeep/plugin-sdk/examples', name), copy, { recursive: true })
      return copy
    },
  }
}

async function locate(program: string): Promise<string> {
  const { stdout } = await promisify(execFile)('which', [program], { encoding: 'utf8' })
  return realpath(stdout.trim())
}

/** Removes npm's variables about the repository's package, which a nested npm would take for its own. */
function withoutScriptSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const about =
    /^(npm_(lifecycle|package|command|execpath|node_execpath|config_local_prefix)|INIT_CWD$|NODE_OPTIONS$|TAP|_TAPJS)/
  return Object.fromEntries(Object.entries(env).filter(([name]) => !about.test(name)))
}
