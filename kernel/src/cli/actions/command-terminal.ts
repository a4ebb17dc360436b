import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { CommandOutput, ProgressLine } from '@nodekeep/plugin-sdk'
import type { CommandProcess } from '../common/command-process.ts'
import { itemLines, printJson, printLines, printTable } from '../common/print-lines.ts'

/**
 * Makes the output of a plugin's command: text for people, or JSON for programs. Lines for people then go to the error stream, so
 * that programs can parse the output.
 */
export function outputOnTerminal(asJson: boolean, { stdout, stderr }: CommandProcess): CommandOutput {
  return {
    lines: (...lines) => printLines(lines, asJson ? stderr : stdout),
    table(rows, empty) {
      if (asJson) printJson(rows, stdout)
      else printTable(rows.map(asTexts), empty, stdout)
    },
    state(state) {
      if (asJson) printJson(state, stdout)
      else printLines(itemLines(Object.entries(asTexts(state))), stdout)
    },
    progress: (label) => progressLine(label, stderr),
  }
}

function asTexts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const texts = Object.entries(values).map(([key, value]) => [
    key,
    value === null || value === undefined ? '' : value instanceof Date ? value.toISOString() : String(value),
  ])
  return Object.fromEntries(texts)
}

const barWidth = 24

/** A bar on the terminal's error stream, so that the output of the command can be piped. */
function progressLine(label: string, stderr: CommandProcess['stderr']): ProgressLine {
  if (!stderr.isTTY) return { update() {}, end() {} }
  return {
    update(fraction, text = '') {
      const share = Math.min(1, Math.max(0, fraction))
      const bar = '#'.repeat(Math.round(share * barWidth)).padEnd(barWidth, '.')
      stderr.write(`\r\x1b[2K${label} [${bar}] ${Math.floor(share * 100)} % ${text}`)
    },
    end: () => void stderr.write('\r\x1b[2K'),
  }
}

/**
 * Asks a question that is answered with yes or no. Without a person at the terminal, the answer is no.
 *
 * @throws the reason of the signal, such as when the terminal is closed
 */
export async function askOnTerminal(
  question: string,
  signal: AbortSignal,
  { stdin, stderr }: CommandProcess,
): Promise<boolean> {
  if (!stdin.isTTY) return false
  const terminal = createInterface({ input: stdin, output: stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `, { signal })).trim())
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    terminal.close()
  }
}

/** Asks for a text that nobody sees. Without a person at the terminal, the answer is `null`. */
export async function askForSecret(
  question: string,
  signal: AbortSignal,
  { stdin, stderr }: CommandProcess,
): Promise<string | null> {
  if (!stdin.isTTY) return null
  stderr.write(`${question} `)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: stdin, output: nowhere, terminal: true })
  // The terminal passes on keys as they are, Ctrl+C among them.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  try {
    return (await terminal.question('', { signal })).trim()
  } finally {
    terminal.close()
    stderr.write('\n')
  }
}
