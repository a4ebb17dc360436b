import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { makerText } from '../../maker-text.ts'
import { ask, Dialog } from '../../questions.ts'
import { reasonOf, request } from '../../request.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { dateText } from '../../times.ts'
import { ContentView } from './content-view.ts'
import type { EntryActions } from './entry-actions.ts'
import { downloadFile } from './file-download.ts'
import { nameOf, versionAddress } from './paths.ts'
import { type Version, VersionComparison } from './version-comparison.ts'

/** Versions of a page. */
const pageSize = 100

const words = texts.versions

interface VersionsProps {
  readonly actions: EntryActions
  readonly page: PageContext
}

/** Shows the former contents of a file, over the page. */
export function VersionsDialog({ actions, page }: VersionsProps): VNode | null {
  const path = actions.versionsOf.value
  if (path === null) return null
  return html`<${Dialog} title=${words.titleOf(shownName(nameOf(path)))} onClose=${() => actions.closeVersions()}>
    <${Versions} key=${path} path=${path} actions=${actions} page=${page} />
  <//>`
}

function Versions({ path, actions, page }: VersionsProps & { readonly path: string }): VNode {
  const versions = useSignal<readonly Version[] | null>(null)
  const cursor = useSignal<string | null>(null)
  const fault = useSignal('')
  const shown = useSignal<{ readonly version: Version; readonly how: 'alone' | 'compared' } | null>(null)
  const isBusy = useSignal(false)
  const element = useRef<HTMLDivElement>(null)
  /** Does one thing at a time, and says why it failed. */
  const attempt = async (act: () => Promise<void>) => {
    if (isBusy.value) return
    isBusy.value = true
    fault.value = ''
    try {
      await act()
    } catch (error) {
      fault.value = shownName(reasonOf(error))
    } finally {
      isBusy.value = false
    }
  }
  const load = async () => {
    const query = { path, limit: String(pageSize), ...(cursor.value !== null && { cursor: cursor.value }) }
    const answer = await request(page, 'GET /api/files/versions', { query, signal: page.signal })
    versions.value = [...(versions.value ?? []), ...answer.versions]
    cursor.value = answer.cursor
  }
  useLayoutEffect(() => void attempt(load), [])
  const show = (version: Version | null, how: 'alone' | 'compared' = 'alone') => {
    shown.value = version && { version, how }
    // The button that was pressed goes away.
    element.current?.focus()
  }
  const button = (text: string, version: Version, act: () => void, kind = '') =>
    html`<button
      type="button"
      class=${kind}
      aria-label=${texts.files.of(text, dateText(version.replaced))}
      aria-disabled=${isBusy.value}
      onClick=${act}
    >${text}</button>`
  const remove = async (version: Version) => {
    const title = words.deleteTitle(dateText(version.modified))
    if (
      (await ask({ title, text: words.deleteText, agree: texts.files.deleteForGood, danger: true })) === null
    )
      return
    await attempt(async () => {
      await request(page, 'POST /api/files/versions/delete', { body: { path, id: version.id } })
      versions.value = versions.value?.filter((one) => one !== version) ?? null
      show(null)
    })
  }
  const views = (version: Version) => html`
    ${shown.value?.how !== 'alone' && button(words.show, version, () => show(version))}
    ${shown.value?.how !== 'compared' && button(words.compare, version, () => show(version, 'compared'))}
    ${button(texts.files.download, version, () => void downloadFile(page, path, versionAddress(path, version.id)))}
  `
  const restoration = (version: Version, kind?: 'main') =>
    button(words.restore, version, () => void attempt(() => actions.restoreVersion(path, version.id)), kind)
  const removal = (version: Version) =>
    button(texts.files.delete, version, () => void remove(version), 'danger')
  const row = (version: Version) => html`<li key=${version.id}>
    <${Facts} version=${version} />
    <p class="choices">${views(version)}${restoration(version)}${removal(version)}</p>
  </li>`
  const name = shownName(nameOf(path))
  return html`<div class="versions" tabindex="-1" ref=${element}>
    <p class="fault" role="alert">${fault.value}</p>
    ${
      shown.value !== null
        ? html`<${Facts} version=${shown.value.version} />
          <div class="file-content">
            ${
              shown.value.how === 'alone'
                ? html`<${ContentView} address=${versionAddress(path, shown.value.version.id)} page=${page} name=${name} />`
                : html`<${VersionComparison} path=${path} versions=${versions.value} version=${shown.value.version} page=${page} />`
            }
          </div>
          <p class="buttons">
            ${removal(shown.value.version)}
            <button type="button" onClick=${() => show(null)}>${words.back}</button>
            ${views(shown.value.version)}
            <button type="button" onClick=${() => actions.closeVersions()}>${texts.close}</button>
            ${restoration(shown.value.version, 'main')}
          </p>`
        : html`<p class="hint">${words.text}</p>
          <p role="status">${statusText(versions.value, fault.value)}</p>
          <ul aria-label=${words.list}>${versions.value?.map(row)}</ul>
          <p class="buttons">
            ${cursor.value !== null && html`<button type="button" aria-disabled=${isBusy.value} onClick=${() => attempt(load)}>${words.more}</button>`}
            <button type="button" onClick=${() => actions.closeVersions()}>${texts.close}</button>
          </p>`
    }
  </div>`
}

function Facts({ version }: { version: Version }): VNode {
  const { size, modified, replaced } = version
  return html`<p class="facts">
    <strong><time dateTime=${modified}>${dateText(modified)}</time></strong>
    <span class="hint">${bytesText(size)}</span>
    <span class="hint">${words.replaced} <time dateTime=${replaced}>${dateText(replaced)}</time></span>
    <span class="hint"><bdi>${words.by(makerText(version))}</bdi></span>
  </p>`
}

function statusText(versions: readonly Version[] | null, fault: string): string {
  if (versions === null) return fault === '' ? texts.shell.loading : ''
  return versions.length === 0 ? words.none : ''
}
