import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Test, test } from 'tap'
import { needsPrograms } from '../../src/testing/programs.ts'
import { commandFolder, isRefusal } from './fixtures/nodekeep.ts'

/** Lines that a person has typed so far, with some of the words that Tab must offer next. */
const cases: readonly (readonly [line: readonly string[], offered: readonly string[]])[] = [
  [['conf'], ['config']],
  [['--po'], ['--port']],
  [
    ['config', ''],
    ['print', 'check', 'schema'],
  ],
  [['config', 'print', '--j'], ['--json']],
  [['start', '--log-level', 'de'], ['debug']],
  [['--data', '.', 'user', 'di'], ['disable']],
  [['user', 'set-wallet', 'ada', '--'], ['--swap']],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
]

test('commands, options and values are offered that begin with the last word', async (t) => {
  const folder = await commandFolder(t)
  for (const [words, expected] of cases) {
    const { code, stdout } = await folder.run('completion', 'bash', '--', ...words)
    t.equal(code, 0)
    isOffered(t, words, stdout, expected)
    t.match(stdout, /^(?:[\w-]+(?:\t.+)?\n)+$/)
  }
})

test('nothing is offered for the value of another option, so that the shell offers files', async (t) => {
  const folder = await commandFolder(t)
  for (const words of [
    ['--config', ''],
    ['start', '-c', ''],
    ['config', 'print', '--data', 'da'],
    ['status', 'x'],
  ])
    t.same(await folder.run('completion', 'bash', '--', ...words), { code: 0, stdout: '', stderr: '' })
})

test('bash completes what is offered, and files', { skip: needsPrograms('bash') }, async (t) => {
  await completes(t, 'bash', (words) => {
    const array = ['nodekeep', ...words].map((word) => `'${word}'`).join(' ')
    return `COMP_WORDS=(${array}); COMP_CWORD=${words.length}; _nodekeep; printf '%s\\n' "\${COMPREPLY[@]}"`
  })
})

test('zsh completes what is offered, and files', { skip: needsPrograms('zsh') }, async (t) => {
  // Completion itself needs a terminal. Here its functions print.
  const functions = `compdef() {}
    _describe() { for word in "\${(@P)2}"; do print -r -- "\${word%%:*}"; done }
    _files() { print -r -- "\${PREFIX}"* }`
  await completes(
    t,
    'zsh',
    (words) => {
      const array = ['nodekeep', ...words].map((word) => `'${word}'`).join(' ')
      return `words=(${array}); CURRENT=${words.length + 1}; PREFIX='${words.at(-1)}'; _nodekeep; true`
    },
    functions,
  )
})

test('fish completes what is offered, and files', { skip: needsPrograms('fish') }, async (t) => {
  await completes(t, 'fish', (words) => `complete -C 'nodekeep ${words.join(' ')}'`)
})

test('a shell that is not known is refused with those that are', async (t) => {
  const folder = await commandFolder(t)
  const refused = await folder.run('completion', 'tcsh')
  t.ok(isRefusal(refused))
  t.match(refused.stderr, /bash, zsh, fish/)
})

/** Checks that everything that is offered begins with the last word. */
function isOffered(t: Test, words: readonly string[], printed: string, expected: readonly string[]): void {
  const offered = printed.split('\n').flatMap((line) => line.split('\t')[0] || [])
  const line = `nodekeep ${words.join(' ')}`
  for (const word of expected) t.ok(offered.includes(word), `"${line}" offers ${word}: ${offered}`)
  const others = offered.filter((word) => !word.startsWith(words.at(-1) ?? ''))
  t.same(others, [], `"${line}" offers nothing else`)
}

/** Runs the script of a shell, which finds this program in its path. */
async function completes(
  t: Test,
  shell: string,
  ask: (words: readonly string[]) => string,
  before = '',
): Promise<void> {
  const folder = await commandFolder(t)
  const { code, stdout } = await folder.run('completion', shell)
  t.equal(code, 0)
  const script = join(folder.path, `completion.${shell}`)
  await writeFile(script, stdout)
  const bin = join(folder.path, 'bin')
  await mkdir(bin)
  const program = fileURLToPath(new URL('../../bin/nodekeep.js', import.meta.url))
  const command = `exec '${process.execPath}' --conditions=nodekeep-source '${program}' "$@"`
  await writeFile(join(bin, 'nodekeep'), `#!/bin/sh\n${command}\n`, { mode: 0o755 })
  const env = {
    PATH: [bin, process.env.PATH].join(delimiter),
    HOME: folder.path,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
  }
  for (const [words, expected] of [
    [['conf'], ['config']],
    [['config', 'print', '--j'], ['--json']],
    // Bash itself offers files, after its function has offered nothing.
    [['--config', 'node'], shell === 'bash' ? [] : ['nodekeep.json']],
    ...(shell === 'fish' ? ([[['--config', '~/node'], ['~/nodekeep.json']]] as const) : []),
  ] as const) {
    const { stdout } = await promisify(execFile)(
      shell,
      ['-c', `${before}\nsource ${script}\n${ask(words)}`],
      { cwd: folder.path, env },
    )
    isOffered(t, words, stdout, expected)
  }
}
