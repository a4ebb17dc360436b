/** `npm run api-report`: writes the report of the SDK's public declarations. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { type Node, SyntaxKind } from 'typescript/unstable/ast'
import { isIdentifier } from 'typescript/unstable/ast/is'
import { API, type Symbol as NamedSymbol, type Project, SymbolFlags } from 'typescript/unstable/sync'
import { outcome, root as repository, startTool } from '../run/command.ts'
import { type Package, readPackages } from './packages.ts'

/** The file in the package of the SDK. */
const reportName = 'api-report.md'

/** Compares the committed report with the declarations. Returns one line if they differ. */
export async function checkApiReport(root: string): Promise<string[]> {
  const sdk = sdkOf(root)
  const file = posix.join(sdk.folder, reportName)
  const differs = readIfPresent(join(root, file)) !== (await describe(root, sdk))
  return differs
    ? [`${file}: it is not the report of the declarations; write it with "npm run api-report"`]
    : []
}

/** Writes the report of a repository. */
export async function writeApiReport(root: string): Promise<void> {
  const sdk = sdkOf(root)
  writeFileSync(join(root, sdk.folder, reportName), await describe(root, sdk))
}

/** Returns the declarations of all exports, without comments and sorted by name, and of the types that they name. */
async function describe(root: string, sdk: Package): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'nodekeep-api-report-'))
  try {
    const entries = Object.entries(sdk.manifest.exports ?? {}).flatMap(([path, target]) =>
      typeof target === 'object' ? [{ path, source: target['nodekeep-source'] ?? '' }] : [],
    )
    await emitDeclarations(
      join(root, sdk.folder),
      entries.map(({ source }) => source),
      folder,
    )
    return withDeclarations(folder, (project) => reportOf(sdk, entries, folder, project))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Compiles files of a package, and what they import, to declarations without comments. */
async function emitDeclarations(from: string, files: readonly string[], to: string): Promise<void> {
  const config = join(to, 'tsconfig.json')
  const compilerOptions = {
    lib: ['esnext', 'dom'],
    noLib: false,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    noCheck: true,
    removeComments: true,
    rewriteRelativeImportExtensions: true,
    rootDir: from,
    outDir: to,
    typeRoots: [join(repository, 'node_modules/@types')],
  }
  writeJson(config, {
    extends: join(from, '../tsconfig.json'),
    compilerOptions,
    files: files.map((file) => join(from, file)),
    include: [],
  })
  const { ok, output } = await outcome(startTool('tsc', ['--project', config]))
  if (!ok) throw new Error(`The declarations of the SDK do not compile:\n${output}`)
}

function withDeclarations<T>(folder: string, read: (project: Project) => T): T {
  const config = join(folder, 'tsconfig.json')
  writeJson(config, {
    compilerOptions: { module: 'nodenext', noLib: true, types: [], noEmit: true },
    include: ['**/*.d.ts'],
  })
  const api = new API({ cwd: folder })
  try {
    const project = api.updateSnapshot({ openProject: config }).getProject(config)
    if (project === undefined) throw new Error(`${config} could not be opened.`)
    return read(project)
  } finally {
    api.close()
  }
}

function reportOf(
  { manifest }: Package,
  entries: readonly { path: string; source: string }[],
  folder: string,
  project: Project,
): string {
  const isOurs = ({ declarations }: NamedSymbol) => declarations[0]?.path.startsWith(`${folder}/`) === true
  const sections: (readonly [title: string, texts: string[]])[] = []
  const exported = new Set<number>()
  const named = new Map<number, NamedSymbol>()
  const add = (symbol: NamedSymbol): string[] =>
    statementsOf(project, symbol).map((statement) => {
      for (const each of namesIn(project, statement)) if (isOurs(each)) named.set(each.id, each)
      return textOf(statement)
    })
  for (const { path, source } of entries) {
    const file = project.program.getSourceFile(join(folder, source.replace(/\.ts$/, '.d.ts')))
    const module = file && project.checker.getSymbolAtLocation(file)
    if (!module) throw new Error(`${source} is no module.`)
    const texts = byName(project.checker.getExportsOfModule(module)).flatMap((symbol) => {
      const target = resolved(project, symbol)
      exported.add(target.id)
      return isOurs(target) ? add(target) : [`export { ${symbol.name} } // of a library`]
    })
    sections.push([posix.join(manifest.name, path), texts])
  }
  const hidden: NamedSymbol[] = []
  const texts = new Map<NamedSymbol, string[]>()
  for (const [id, symbol] of named) {
    if (exported.has(id)) continue
    hidden.push(symbol)
    texts.set(symbol, add(symbol))
  }
  sections.push([
    'Not exported, but named above',
    byName(hidden).flatMap((symbol) => texts.get(symbol) ?? []),
  ])
  const head = `# The declarations of ${manifest.name}\n\nA change of this file changes the contract with plugins. \`npm run api-report\` writes it.\n`
  return [
    head,
    ...sections.map(([title, lines]) => `## ${title}\n\n\`\`\`ts\n${lines.join('\n')}\n\`\`\`\n`),
  ].join('\n')
}

function resolved({ checker }: Project, symbol: NamedSymbol): NamedSymbol {
  return symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}

/** The statements that declare a symbol. */
function statementsOf(project: Project, { declarations }: NamedSymbol): Node[] {
  return declarations.flatMap((handle) => {
    let node = handle.resolve(project)
    while (node?.parent && node.parent.kind !== SyntaxKind.SourceFile) node = node.parent
    return node === undefined ? [] : [node]
  })
}

/** The symbols of the names in a declaration. */
function namesIn(project: Project, node: Node): NamedSymbol[] {
  if (isIdentifier(node)) {
    const symbol = project.checker.getSymbolAtLocation(node)
    const target = symbol && resolved(project, symbol)
    return target === undefined || !isTopLevel(project, target) ? [] : [target]
  }
  const found: NamedSymbol[] = []
  node.forEachChild((child) => void found.push(...namesIn(project, child)))
  return found
}

function isTopLevel(project: Project, { declarations }: NamedSymbol): boolean {
  const node = declarations[0]?.resolve(project)
  const statement = node?.kind === SyntaxKind.VariableDeclaration ? node.parent.parent : node
  return statement?.parent?.kind === SyntaxKind.SourceFile
}

/** The compiler writes `import("../service.ts").Service` for a type that a file does not import. */
function textOf(statement: Node): string {
  return statement.getText().replaceAll(/\bimport\("\.[^"]*"\)\./g, '')
}

function byName(symbols: readonly NamedSymbol[]): NamedSymbol[] {
  return symbols.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function sdkOf(root: string): Package {
  const sdk = readPackages(root).find(({ kind }) => kind === 'sdk')
  if (sdk === undefined) throw new Error(`${root} has no package of the SDK.`)
  return sdk
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function writeJson(file: string, value: object): void {
  writeFileSync(file, JSON.stringify(value))
}

if (import.meta.main) await writeApiReport(repository)
