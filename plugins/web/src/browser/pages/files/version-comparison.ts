import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { reasonOf } from '../../request.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { dateText } from '../../times.ts'
import type { DifferencePart } from './line-difference.ts'
import { contentAddress, nameOf, versionAddress } from './paths.ts'
import { mostText, textContent, type ViewedContent } from './viewed-content.ts'

/** A former content of a file. */
export type Version = NodeAnswers['GET /api/files/versions']['versions'][number]

const words = texts.versions

/** The most lines that are shown. */
const mostLines = 5000

interface ComparisonProps {
  readonly path: string
  /** The versions of the file, newest first. */
  readonly versions: readonly Version[]
  readonly version: Version
  readonly page: PageContext
}

/** Compares a version with the present content, or with another version that the person chooses. */
export function VersionComparison({ path, versions, version, page }: ComparisonProps): VNode {
  /** The id of the other version; empty for the present content. */
  const other = useSignal('')
  const result = useSignal<Result | null>(null)
  const fault = useSignal('')
  const addressOf = (id: string) => (id === '' ? contentAddress(path) : versionAddress(path, id))
  useLayoutEffect(() => {
    result.value = null
    fault.value = ''
    const ended = new AbortController()
    const at = (id: string) => (id === '' ? -1 : versions.findIndex((one) => one.id === id))
    // The present content is the newest.
    const [older, newer] = [version.id, other.value].sort((a, b) => at(b) - at(a)) as [string, string]
    compare(page, addressOf(older), addressOf(newer), ended.signal)
      .then((compared) => {
        if (!ended.signal.aborted) result.value = compared
      })
      .catch((error: unknown) => {
        if (!ended.signal.aborted) fault.value = shownName(reasonOf(error))
      })
    return () => ended.abort()
  }, [other.value])
  const choose = ({ currentTarget }: Event) => {
    other.value = (currentTarget as HTMLSelectElement).value
  }
  return html`<label>
      ${words.compareWith}
      <select value=${other.value} onChange=${choose}>
        <option value="">${words.present}</option>
        ${versions
          .filter((one) => one !== version)
          .map(({ id, modified }) => html`<option key=${id} value=${id}>${dateText(modified)}</option>`)}
      </select>
    </label>
    <p class="fault" role="alert">${fault.value}</p>
    <p class="hint" role="status">${fault.value === '' && statusText(result.value)}</p>
    ${
      typeof result.value === 'object' &&
      result.value !== null &&
      html`<pre class="difference" dir="auto" tabindex="0" aria-label=${words.difference(shownName(nameOf(path)))}>
        ${shownLines(result.value.parts)}
      </pre>`
    }`
}

/** The difference, or the reason why there is none. */
type Result =
  | 'not texts'
  | 'too different'
  | { readonly parts: readonly DifferencePart[]; readonly isCut: boolean }

async function compare(
  page: PageContext,
  older: string,
  newer: string,
  signal: AbortSignal,
): Promise<Result> {
  const [{ lineDifference }, ...contents] = await Promise.all([
    import('./line-difference.ts'),
    textContent(page, older, signal),
    textContent(page, newer, signal),
  ])
  const [before, after] = contents as [ViewedContent, ViewedContent]
  if (before.kind !== 'text' || after.kind !== 'text') return 'not texts'
  const parts = lineDifference(before.text, after.text)
  return parts === null ? 'too different' : { parts, isCut: before.isCut || after.isCut }
}

function statusText(result: Result | null): string {
  if (result === null) return texts.shell.loading
  if (result === 'not texts') return words.notTexts
  if (result === 'too different') return words.tooDifferent
  const { parts, isCut } = result
  const lines = parts.reduce((sum, part) => sum + part.lines.length, 0)
  return [
    parts.length === 0 ? words.equal : words.legend,
    ...(isCut ? [words.cut(bytesText(mostText))] : []),
    ...(lines > mostLines ? [words.firstLines(mostLines)] : []),
  ].join(' ')
}

function shownLines(parts: readonly DifferencePart[]): VNode[] {
  const tags = { '-': 'del', '+': 'ins', ' ': 'span' }
  let left = mostLines
  return parts.flatMap(({ line, lines }) => {
    const shown = lines.slice(0, left)
    left -= shown.length
    if (shown.length === 0) return []
    return [
      html`<b>${words.fromLine(line)}</b>`,
      ...shown.map(({ sign, text }, i) => {
        // A word for the sign stands above the first of the lines that have it.
        const word = sign === ' ' || shown[i - 1]?.sign === sign ? null : words.signs[sign]
        return html`<${tags[sign]}>${word !== null && html`<small>${`${word}\n`}</small>`}${`${sign} ${text}\n`}<//>`
      }),
    ]
  })
}
