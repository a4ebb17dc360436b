import type { MountPage, PageContext } from '@nodekeep/plugin-sdk/web-page'
import { render, type VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { EmptyState } from '../../empty-state.ts'
import { FileChooser } from '../../file-chooser.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { folderAddress, folderOf, nameOf } from '../files/paths.ts'
import { FunctionForm } from './function-form.ts'
import { WasmModule } from './module.ts'
import { ProgramForm } from './program-form.ts'

/** The page of WebAssembly. The address names the module: `#/wasm/programs/math.wasm`. */
const mount: MountPage = (element, page) => {
  const module = new WasmModule(page)
  const chooser = new FileChooser(page, texts.wasm.choose, '.wasm')
  const open = (place: string) => void module.open(place === '/' ? null : place)
  page.onPlace(open)
  open(page.place)
  render(html`<${WasmView} module=${module} chooser=${chooser} page=${page} /><${chooser.View} />`, element)
  return () => render(null, element)
}

interface WasmViewProps {
  readonly module: WasmModule
  readonly chooser: FileChooser
  readonly page: PageContext
}

function WasmView({ module, chooser, page }: WasmViewProps): VNode {
  const path = module.path.value
  const functions = module.functions.value
  const choose = async () => {
    const chosen = await chooser.choose()
    if (chosen !== null) page.navigate(`/wasm${chosen}`)
  }
  useLayoutEffect(() => page.setTitle(path === null ? null : nameOf(path)), [path])
  const isLoading = path !== null && functions === null && module.fault.value === ''
  return html`<section class="wasm">
    <div class="page-head">
      <h1>${path === null ? texts.wasm.title : shownName(nameOf(path))}</h1>
      ${path !== null && html`<button type="button" onClick=${choose}>${icon('file-code')} ${texts.wasm.chooseOther}</button>`}
    </div>
    ${
      path === null
        ? html`<${EmptyState} icon="terminal" title=${texts.wasm.begin} text=${texts.wasm.hint}>
            <button type="button" class="main" onClick=${choose}>${texts.wasm.choose}</button>
          <//>`
        : html`<p class="hint">${texts.wasm.in} <a href=${folderAddress(folderOf(path))}>${shownName(folderOf(path))}</a></p>`
    }
    <p class="fault" role="alert">${module.fault.value}</p>
    <p class="hint" role="status">${isLoading && texts.shell.loading}</p>
    ${module.isProgram.value && html`<${ProgramForm} key=${path} module=${module} />`}
    ${functions?.length === 0 && !module.isProgram.value && html`<p>${texts.wasm.noFunctions}</p>`}
    <ul>
      ${functions?.map((of) => html`<${FunctionForm} key=${`${path} ${of.name}`} module=${module} of=${of} />`)}
    </ul>
  </section>`
}

export default mount
