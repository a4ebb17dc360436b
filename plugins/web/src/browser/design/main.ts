import { type ComponentChildren, render, type VNode } from 'preact'
import { Avatar } from '../avatar.ts'
import { EmptyState } from '../empty-state.ts'
import { Field } from '../field.ts'
import { html } from '../html.ts'
import { type IconName, icon } from '../icon.ts'
import { iconShapes } from '../icon-shapes.ts'
import { MenuButton } from '../menu.ts'
import { ask, Questions } from '../questions.ts'
import { chooseTheme, theme, themes } from '../shell/frame/theme.ts'
import { Notices, notice } from '../shell/notices.ts'
import * as texts from '../texts.ts'
import { UsageBar } from '../usage-bar.ts'

/*
 * All parts of the pages with all their states, for people who make pages. `npm run design` shows it. Its texts are examples.
 */

const surfaces = ['background', 'surface', 'raised', 'accent-tint', 'good-tint', 'warning-tint', 'fault-tint']

const { files: own, otherThings: others } = texts.usage.legend

/** The colors of text that stand on a tint. */
const textOf: Readonly<Record<string, string>> = {
  'accent-tint': 'accent',
  'good-tint': 'good',
  'warning-tint': 'warning',
  'fault-tint': 'fault',
}

function Part({ title, children }: { title: string; children?: ComponentChildren }): VNode {
  return html`<section aria-label=${title}><h2>${title}</h2>${children}</section>`
}

function Colors(): VNode {
  return html`<${Part} title="Colors">
    <ul class="swatches">
      ${surfaces.map((name) => {
        const color = `var(--${textOf[name] ?? 'text'})`
        return html`<li key=${name} style=${{ background: `var(--${name})`, color }}>${name}</li>`
      })}
    </ul>
  <//>`
}

function Type(): VNode {
  return html`<${Part} title="Type">
    <h1>The title of a page</h1>
    <h2>The title of a part</h2>
    <h3>A smaller title</h3>
    <p>Text, with <a href="#type">a link</a>, <code>code</code>, a key <kbd>F2</kbd> and a <mark>found</mark> word.</p>
    <p class="hint">A hint, and <small>a note</small>.</p>
    <p class="fault">The name is taken. Choose another one.</p>
    <blockquote>A quotation.</blockquote>
    <pre tabindex="0">npm start -- status</pre>
    <hr />
  <//>`
}

const kinds = { Plain: '', Primary: 'main', Quiet: 'quiet', Danger: 'danger' }

function Buttons(): VNode {
  return html`<${Part} title="Buttons">
    ${Object.entries(kinds).map(
      ([name, kind]) => html`<p key=${name} class="choices">
        <button type="button" class=${kind}>${name}</button>
        <button type="button" class=${kind}>${icon('upload')} ${name}</button>
        <button type="button" class=${`${kind} icon-only`} aria-label=${`${name}, icon only`}>${icon('plus')}</button>
        <button type="button" class=${kind} disabled>Disabled</button>
        <button type="button" class=${kind} aria-disabled="true" title="Select a file first.">With a reason</button>
      </p>`,
    )}
    <p class="choices">
      <button type="button" class="icon-only" aria-label="List" aria-pressed="true">${icon('list')}</button>
      <button type="button" class="icon-only" aria-label="Grid" aria-pressed="false">${icon('layout-grid')}</button>
      <a class="button" href="#buttons">A link as a button</a>
    </p>
  <//>`
}

function Fields(): VNode {
  return html`<${Part} title="Fields">
    <div class="cards">
      <${Field} label="Name" hint="Capitals become small letters." fault="" value="ada" />
      <${Field} label="Name, with a fault" fault="The name is taken. Choose another one." value="ada" />
      <label>Empty<input placeholder="for example, Holidays" /></label>
      <label>Disabled<input value="ada" disabled /></label>
      <label>Choice<select><option>All kinds</option><option>Pictures</option></select></label>
      <label>Text<textarea rows="2">Two lines
of text</textarea></label>
    </div>
    <label class="choice"><input type="checkbox" checked /> A box that is checked</label>
    <label class="choice"><input type="checkbox" /> A box</label>
    <label class="choice"><input type="radio" name="radio" checked /> One of two</label>
    <label class="choice"><input type="radio" name="radio" /> The other</label>
    <label class="choice"><input type="checkbox" role="switch" checked /> On</label>
    <label class="choice"><input type="checkbox" role="switch" /> Off</label>
  <//>`
}

function Cards(): VNode {
  return html`<${Part} title="Cards">
    <div class="cards">
      <article class="card">
        <p class="label">${icon('shield-check')} Backup</p>
        <h3>Tried out today at 03:10</h3>
        <p class="hint">You could be back in 4 min 12 s.</p>
      </article>
      <article class="card warning">
        <p class="label">${icon('database')} Room</p>
        <h3>88 GB free</h3>
        <p class="hint">Full in about 5 weeks. <a href="#cards">See what takes most</a></p>
        <${UsageBar} bytes=${3e11} space=${{ free: 88e9, total: 1e12 }} legend=${{ own, others }} />
      </article>
      <article class="card fault">
        <p class="label">${icon('circle-alert')} From outside</p>
        <h3>Not reachable</h3>
        <p class="hint">The gateway has not answered since 09:12.</p>
      </article>
    </div>
  <//>`
}

function Tiles(): VNode {
  return html`<${Part} title="Tiles">
    <div class="tiles" role="listbox" aria-label="Tiles">
      <div class="tile" role="option" aria-selected="false" tabindex="0">
        <span class="picture sea"></span><span class="name">Sunset at the sea.jpg</span><span class="note">today 09:12</span>
      </div>
      <div class="tile" role="option" aria-selected="true" tabindex="0">
        <span class="picture wood"></span><span class="name">Selected.jpg</span><span class="note">Nov 12</span>
      </div>
      <div class="tile" role="option" aria-selected="false" tabindex="0">
        <span class="picture">${icon('file-text')}</span><span class="name">Packing list.md</span><span class="note">Nov 2</span>
      </div>
    </div>
  <//>`
}

function Rows(): VNode {
  return html`<${Part} title="Rows and tables">
    <ul class="items">
      <li>
        <${Avatar} name="owner" /><span class="grow">owner</span><span class="note">214 GB · now</span>
      </li>
      <li>
        <${Avatar} name="family" /><span class="grow">family</span><span class="badge warning">${icon('clock')} Asks to be let in</span>
        <button type="button">Let in</button>
      </li>
    </ul>
    <table>
      <thead><tr><th>Name</th><th>Size</th><th>Changed</th></tr></thead>
      <tbody><tr><td>Route.pdf</td><td>1.2 MB</td><td>Nov 8</td></tr></tbody>
    </table>
  <//>`
}

const nothing = () => {}

function Menus(): VNode {
  return html`<${Part} title="Menus, dialogs, toasts">
    <p class="choices">
      <${MenuButton}
        label="Actions"
        items=${[
          { label: 'Download', icon: 'download', run: nothing },
          { label: 'Rename', icon: 'pencil', keys: 'F2', run: nothing },
          { label: 'Publish', icon: 'globe', refused: 'The node has no plugin for it.', run: nothing },
          null,
          { label: 'List', icon: 'list', isChosen: true, run: nothing },
          { label: 'Grid', icon: 'layout-grid', isChosen: false, run: nothing },
          null,
          { label: 'Delete', icon: 'trash-2', keys: 'Del', isDanger: true, run: nothing },
        ]}
      >Actions ${icon('chevron-down')}<//>
      <button type="button" onClick=${() => ask({ title: 'New folder', field: { label: 'Name', value: '' }, agree: 'Create' })}>Dialog</button>
      <button type="button" onClick=${() => notice('Saved.')}>Toast</button>
      <button
        type="button"
        onClick=${() => notice('Moved "IMG_2003.jpg" to the trash.', 'done', { label: 'Undo', run: nothing })}
      >Toast with "Undo"</button>
      <button type="button" onClick=${() => notice('The disk is full. Delete something first.', 'error')}>Error</button>
    </p>
    <p class="toast"><span>Moved "IMG_2003.jpg" to the trash.</span><button type="button">Undo</button></p>
    <p class="toast error"><span>The disk is full. Delete something first.</span></p>
  <//>`
}

function States(): VNode {
  return html`<${Part} title="Tabs, badges, progress">
    <nav class="tabs" aria-label="Tabs">
      <a href="#tabs" aria-current="page">Overview</a><a href="#tabs">${icon('users')} Users</a><a href="#tabs">Backups</a>
    </nav>
    <nav class="breadcrumb" aria-label="Breadcrumb">
      <ol>
        <li><a href="#tabs">Files</a></li>
        <li><a href="#tabs">Pictures</a></li>
        <li><a href="#tabs" aria-current="page">Holidays 2026</a></li>
      </ol>
    </nav>
    <p class="choices">
      <span class="badge">Plain</span><span class="badge accent">New</span>
      <span class="badge good">${icon('check')} Everything works</span>
      <span class="badge warning">${icon('triangle-alert')} Needs attention</span>
      <span class="badge fault">${icon('circle-alert')} Failed</span>
    </p>
    <p class="choices">${['a', 'b', 'c', 'd', 'e', 'f'].map((name) => html`<${Avatar} name=${name} />`)}</p>
    <p>12 of 30 files, 4 MB/s, 20 s left<progress value="12" max="30" aria-label="Upload"></progress></p>
    <p>It is not known how long this takes.<progress aria-label="Backup"></progress></p>
    <div class="skeletons" aria-hidden="true">
      <span class="skeleton"></span><span class="skeleton"></span><span class="skeleton"></span>
    </div>
  <//>`
}

function Places(): VNode {
  return html`<${Part} title="Empty state, panel, bars">
    <${EmptyState} icon="folder-open" title="This folder is empty" text="Drop files here, or choose some.">
      <button type="button" class="main">${icon('upload')} Upload</button>
    <//>
    <aside class="panel" aria-label="Details">
      <h3>Route.pdf</h3>
      <dl>
        <dt>Size</dt><dd>1.2 MB</dd>
        <dt>Changed</dt><dd>Nov 8, by ada</dd>
      </dl>
    </aside>
    <div class="placed">
      <div class="bottom-bar" role="toolbar" aria-label="Selection">
        <span class="note">2 selected</span>
        <button type="button" class="quiet icon-only" aria-label="Download">${icon('download')}</button>
        <button type="button" class="quiet icon-only danger" aria-label="Delete">${icon('trash-2')}</button>
      </div>
      <button type="button" class="main icon-only floating-action" aria-label="Upload">${icon('upload')}</button>
    </div>
  <//>`
}

function Icons(): VNode {
  const names = Object.keys(iconShapes) as IconName[]
  return html`<${Part} title="Icons">
    <ul class="icons">${names.map((name) => html`<li key=${name}>${icon(name)} ${name}</li>`)}</ul>
  <//>`
}

function Design(): VNode {
  return html`<main>
      <div class="design">
        <div class="page-head">
          <h1>Design</h1>
          <div class="toolbar">
            ${themes.map(
              (one) =>
                html`<button type="button" key=${one} aria-pressed=${theme.value === one} onClick=${() => chooseTheme(one)}>${one}</button>`,
            )}
          </div>
        </div>
        <${Type} /><${Colors} /><${Buttons} /><${Fields} /><${Cards} /><${Tiles} /><${Rows} /><${Menus} /><${States} /><${Places} /><${Icons} />
      </div>
    </main>
    <${Notices} />
    <${Questions} />`
}

render(html`<${Design} />`, document.body)
