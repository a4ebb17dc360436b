import { resolve } from 'node:path'
import { Command } from 'commander'
import { SyncFailure } from '../sync-failure.ts'
import type { CheckOptions } from './check.ts'
import type { LoginOptions } from './login.ts'
import { readSettings } from './settings.ts'
import { readStatus, setPaused } from './status-file.ts'
import { printable, stateText, waitingText } from './status-text.ts'
import type { SyncOptions } from './sync.ts'

const exitCodes = `
Exit codes with --once:
  0  both sides are the same
  1  nothing can be synced before you do something
  2  deletions wait for you
  3  all else is synced, but some files cannot be; they are named
  4  it was not finished, as when the node does not answer`

/** Runs the command `nodekeep-sync`. What talks with a node is loaded when it is used: the other commands start in a quarter of the time. */
export async function run(args: readonly string[], version: string): Promise<void> {
  const program = new Command('nodekeep-sync')
    .description('Keeps a folder of this machine the same as your files on a node.')
    .version(version, '-V, --version', 'print the version')
    .argument('<folder>', 'the folder')
    .option('--node <url>', 'the address of the node; needed for the first time')
    .option(
      '--name <device>',
      'the name of this device, which conflict copies have; by default that of the machine',
    )
    .option('--once', 'end when both sides are the same, or when nothing more can be done')
    .option('--wait <seconds>', 'with --once: how long to wait while nothing can be done', '60')
    .option('--link', 'begin anew, also with another node: compare both sides, and delete nothing')
    .option('--allow-deletions', 'delete also many files at once')
    .addHelpText('after', exitCodes)
    .enablePositionalOptions()
    .action(async (folder: string, options: SyncOptions) => (await import('./sync.ts')).sync(folder, options))
  program
    .command('login')
    .description('store a token for a node; it is read from the standard input')
    .requiredOption('--node <url>', 'the address of the node')
    .option('--key <file>', 'sign in with the wallet whose private key is in this file')
    .option('--claim <code>', 'with --key: the code that a node without an owner prints when it starts')
    .action(async (options: LoginOptions) => (await import('./login.ts')).login(options))
  program
    .command('status')
    .description('show the state of the synced folders')
    .argument('[folder]', 'one of them')
    .option('--json', 'print JSON')
    .action(status)
  program
    .command('check')
    .description('tell whether all files of a folder are stored on a node; nothing is uploaded')
    .argument('<folder>', 'the folder, which need not be synced')
    .option('--node <url>', 'the address of the node; needed if you have logged in to several')
    .option('--json', 'print a line of JSON for each file, and one for the outcome')
    .addHelpText('after', '\nThe exit code is 0 only if all files are stored.')
    .action(async (folder: string, options: CheckOptions) =>
      (await import('./check.ts')).check(folder, options),
    )
  for (const name of ['pause', 'resume'] as const) {
    program
      .command(name)
      .description(name === 'pause' ? 'stop syncing a folder for now' : 'go on with a folder')
      .argument('<folder>', 'the folder')
      .action((folder: string) => setPaused(resolve(folder), name === 'pause'))
  }
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    process.exitCode = 1
    if (!(error instanceof SyncFailure)) throw error
    console.error(`nodekeep-sync: ${printable(error.message)}`)
  }
}

async function status(folder: string | undefined, { json }: { readonly json?: boolean }): Promise<void> {
  const folders = folder === undefined ? Object.keys((await readSettings()).folders) : [resolve(folder)]
  const found = (await Promise.all(folders.map(readStatus))).filter((each) => each !== null)
  if (json === true) return console.log(JSON.stringify(found, null, 2))
  if (found.length === 0) console.log('No folder has been synced.')
  for (const each of found) {
    const { folder: path, node, isRunning, isPaused, synced, problems, problemCount } = each
    console.log(`${path} and ${node}: ${isRunning ? stateText(each) : 'not running'}, ${synced} synced`)
    const waiting = isRunning || isPaused ? waitingText(path, each) : null
    if (waiting !== null) console.log(`  ${printable(waiting)}`)
    for (const [problem, reason] of Object.entries(problems))
      console.log(`  Not synced: ${printable(`${problem}: ${reason}`)}`)
    const more = problemCount - Object.keys(problems).length
    if (more > 0) console.log(`  Not synced: ${more} others`)
  }
}
