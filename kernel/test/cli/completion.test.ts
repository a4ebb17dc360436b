import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
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
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
]

test('bash completes commands, options and values', { skip: needsPrograms('bash') }, async (t) => {
  await completes(t, 'bash', (script, words) => {
    const array = ['nodekeep', ...words].map((word) => `'${word}'`).join(' ')
    return `source ${script}; COMP_WORDS=(${array}); COMP_CWORD=${words.length}; _nodekeep; printf '%s\\n' "\${COMPREPLY[@]}"`
  })
})

test('zsh completes commands, options and values', { skip: needsPrograms('zsh') }, async (t) => {
  // Completion itself needs a terminal. Here its functions filter by the beginning of the word and print.
  const functions = `compdef() {}
    _describe() { for word in "\${(@P)2}"; do compadd -- "\${word%%:*}"; done }
    compadd() { shift; for word in "$@"; do [[ $word == \${PREFIX}* ]] && print -r -- "$word"; done }`
  await completes(t, 'zsh', (script, words) => {
    const array = ['nodekeep', ...words].map((word) => `'${word}'`).join(' ')
    return `${functions}; source ${script}; words=(${array}); CURRENT=${words.length + 1}; PREFIX='${words.at(-1)}'; _nodekeep; true`
  })
})

test('fish completes commands, options and values', { skip: needsPrograms('fish') }, async (t) => {
  await completes(t, 'fish', (script, words) => `source ${script}; complete -C 'nodekeep ${words.join(' ')}'`)
})

test('a shell that is not known is refused with those that are', async (t) => {
  const folder = await commandFolder(t)
  const refused = await folder.run('completion', 'tcsh')
  t.ok(isRefusal(refused))
  t.match(refused.stderr, /bash, zsh, fish/)
})

/** Checks all cases. Everything that is offered must begin with the last word. */
async function completes(
  t: Test,
  shell: string,
  command: (script: string, words: readonly string[]) => string,
): Promise<void> {
  const folder = await commandFolder(t)
  const { code, stdout } = await folder.run('completion', shell)
  t.equal(code, 0)
  const script = join(folder.path, `completion.${shell}`)
  await writeFile(script, stdout)
  for (const [words, expected] of cases) {
    const printed = await promisify(execFile)(shell, ['-c', command(script, words)], {
      cwd: folder.path,
      env: { PATH: process.env.PATH, HOME: folder.path },
    })
    const offered = printed.stdout.split('\n').flatMap((line) => line.split('\t')[0] || [])
    const line = `nodekeep ${words.join(' ')}`
    for (const word of expected) t.ok(offered.includes(word), `"${line}" offers ${word}: ${offered}`)
    t.ok(
      offered.every((word) => word.startsWith(words.at(-1) ?? '')),
      `"${line}" offers nothing else`,
    )
  }
}
