import{A as S,B as te,C as ne,D as T,E as M,F as oe,G as re,I as ae,K as g,L as se,M as V,N as I,P as le,Q as w,a as _,b as o,c as f,d as O,e as b,f as N,g as y,i as $,j,k as J,l,p as B,q as X,r as P,s as C,v as Y,w as D,x as Z,y as E,z as ee}from"./chunk.js";function ie({icon:e,title:t,text:a="",children:n}){return o`<div class="empty">
    ${f(e)}
    <h2>${t}</h2>
    ${a!==""&&o`<p>${a}</p>`}
    ${n!==void 0&&o`<div class="choices">${n}</div>`}
  </div>`}var x=$(null),R=$(""),k=$(!1);function ue(e){return x.value?.answer(null),new Promise(t=>{R.value="",k.value=!1,x.value={...e,answer(a){x.value=null,t(a)}}})}function ce(){let e=x.value;if(b(()=>()=>x.value?.answer(null),[]),e===null)return null;let{title:t,text:a,field:n,agree:r,check:s,answer:u}=e,i=async c=>{if(c.preventDefault(),k.value)return;let m=new FormData(c.target),p=String(m.get("value")??"").trim();k.value=!0;let d=await s?.(p)??null;x.value===e&&(k.value=!1,d===null?u(p):R.value=d)};return o`<${q} title=${t} selected=${n?.selected} onClose=${()=>u(null)}>
    <form onSubmit=${i}>
      ${a&&o`<p>${a}</p>`}
      ${n&&o`<label>${n.label}<input name="value" defaultValue=${n.value} autocomplete="off" autofocus /></label>`}
      <p class="fault" role="alert">${R}</p>
      <p class="buttons">
        <button type="button" onClick=${()=>u(null)}>${l.cancel}</button>
        <button type="submit" class="main" aria-disabled=${k.value}>${r}</button>
      </p>
    </form>
  <//>`}function q(e){let t=y(null);return N(()=>{let n=t.current;n?.showModal();let r=n?.querySelector("input[autofocus]");return r?.setSelectionRange(0,e.selected??r.value.length),()=>n?.close()},[]),o`<dialog ref=${t} onCancel=${n=>{n.preventDefault(),e.onClose()}} aria-label=${e.title}>
    <h2>${e.title}</h2>
    ${e.children}
  </dialog>`}var ke=new V({path:"/api/system/health",freshMs:5e3,everyMs:()=>6e4});function me(){let{attention:e=[]}=I(ke)??{},t=e.length;if(t===0)return null;let a=e.every(({ok:r})=>r)?"warning":"fault",n=l.shell.attention(t);return o`<a class=${`badge attention-badge ${a}`} href=${E("/node")} aria-label=${n} title=${n}>
    ${f("bell")}${t}
  </a>`}var Ne=6;function K({name:e}){let[t="?"]=e,a=[...e].reduce((n,r)=>n+(r.codePointAt(0)??0),0);return o`<span class="avatar" data-letter=${t} data-color=${a%Ne} aria-hidden="true"></span>`}var Pe=700,L=6;function Ce({label:e,items:t,at:a,onClose:n,children:r}){let s=y(null),u=y({text:"",at:0});return N(()=>{let c=s.current,m=document.activeElement;if(c===null)return;c.showPopover();let p=()=>Ve(c,a);p(),addEventListener("resize",p),pe(c)[0]?.focus({preventScroll:!0});let d=({target:h})=>{[c,a].some(G=>G instanceof Element&&G.contains(h))||n()};return addEventListener("pointerdown",d,{capture:!0}),()=>{removeEventListener("pointerdown",d,{capture:!0}),removeEventListener("resize",p);let{activeElement:h}=document;(h===document.body||c.contains(h))&&m instanceof HTMLElement&&m.focus({preventScroll:!0})}},[]),o`<div class="menu" popover="manual" ref=${s} onKeyDown=${c=>{let m=s.current;if(m===null||c.ctrlKey||c.metaKey||c.altKey)return;let p=pe(m),d=p.indexOf(document.activeElement),h=Te(c.key,p,d,u.current);if(c.key==="Tab"||c.key==="Escape")n();else if(h!==void 0)h.focus();else return;c.preventDefault()}}>
    ${r}
    <div role="menu" aria-label=${e}>
      ${t.map(c=>c===null?o`<hr />`:o`<${Se} item=${c} onClose=${n} />`)}
    </div>
  </div>`}function Se({item:e,onClose:t}){let{label:a,icon:n,keys:r,isDanger:s=!1,isChosen:u,refused:i}=e,c={role:u===void 0?"menuitem":"menuitemradio",tabindex:-1,class:s?"danger":"","aria-checked":u,"aria-disabled":i===void 0?void 0:!0,title:i},m=o`
    ${typeof n=="string"?f(n):n}
    <span>${a}</span>
    ${r!==void 0&&o`<kbd aria-hidden="true">${r}</kbd>`}
    ${u===!0&&o`<span class="end">${f("check")}</span>`}
  `;if("href"in e){let d=e.isCurrent===!0?"page":void 0;return o`<a ...${c} href=${e.href} aria-current=${d} onClick=${t}>${m}</a>`}return o`<button type="button" ...${c} aria-keyshortcuts=${r} onClick=${()=>{i===void 0&&(t(),queueMicrotask(e.run))}}>${m}</button>`}function F({label:e,items:t,head:a,children:n,...r}){let s=y(null),u=J(!1),i=()=>{u.value=!u.value},c=()=>{u.value=!1};return o`<button
      type="button"
      ...${r}
      ref=${s}
      aria-label=${e}
      aria-haspopup="menu"
      aria-expanded=${u.value}
      onClick=${i}
    >${n}</button>
    ${u.value&&s.current&&o`<${Ce} label=${e} items=${t} at=${s.current} onClose=${c}>${a}<//>`}`}function pe(e){return[...e.querySelectorAll('[role^="menuitem"]')]}function Te(e,t,a,n){if(e==="ArrowDown")return t[(a+1)%t.length];if(e==="ArrowUp")return t.at(a<=0?-1:a-1);if(e==="Home")return t[0];if(e==="End")return t.at(-1);if(e.length!==1||e===" ")return;let r=performance.now();n.text=(r-n.at<Pe?n.text:"")+e.toLocaleLowerCase(),n.at=r;let s=n.text.length===1?a+1:a;return[...t.slice(s),...t.slice(0,s)].find(({innerText:i})=>i.trim().toLocaleLowerCase().startsWith(n.text))}function Ve(e,t){let{width:a,height:n}=e.getBoundingClientRect(),r=(d,h,A)=>Math.max(L,Math.min(d,A-h-L)),s=t instanceof Element?t.getBoundingClientRect():new DOMRect(t.x,t.y,0,0),u=t instanceof Element?L:0,i=s.left+s.width/2<innerWidth/2||!(t instanceof Element),c=s.bottom+u+n+L<=innerHeight||s.top<innerHeight-s.bottom,m=i?s.left:s.right-a,p=c?s.bottom+u:s.top-u-n;e.style.left=`${r(m,a,innerWidth)}px`,e.style.top=`${r(p,n,innerHeight)}px`}function H(){return o`<a class="product" href="#/"><img src="/web/icon.svg" alt="" /><span>${T}</span></a>`}function de({bytes:e,space:t}){let{free:a,total:n}=t,r=s=>({width:`${100*Math.min(Math.max(s,0),n)/Math.max(n,1)}%`});return o`<span class="usage-bar" aria-hidden="true">
    <span class=${e>0?"own":""} style=${r(e)}></span>
    <span class="others" style=${r(n-a-e)}></span>
  </span>`}var Ie=new V({path:"/api/files/usage?path=/",freshMs:3e4,everyMs:e=>e?.isComplete===!1?2e3:null});function fe(){let e=I(Ie);if(e===null)return null;let{bytes:t,kept:a,quota:n,space:r}=e,s=n?.taken??t+a.trash+a.versions,u=n?.bytes??r?.total,i=n?Math.max(0,n.bytes-n.taken):r?.free;return u===void 0||i===void 0?o`<p class="room">${l.shell.roomUsed(w(s))}</p>`:o`<p class="room">
    ${n?l.shell.roomOf(w(s),w(u)):l.shell.roomUsed(w(s))}
    <${de} bytes=${s} space=${{free:i,total:u}} />
    ${l.shell.roomFree(w(i))}
  </p>`}var Le=4;function he({pages:e}){let t=C(P),a=e.filter(({place:i})=>i==="tab").slice(0,Le),n=t?a:e.filter(({place:i})=>i==="tab"||i==="side"),r=e.filter(i=>i.place!=="user"&&!n.includes(i)),s=g.value?.name,u=r.some(({name:i})=>i===s);return o`<nav class="side" aria-label=${l.shell.navigation}>
    <${H} />
    <ul>
      ${n.map(({name:i,title:c,icon:m})=>o`<li key=${i}>
          <a href=${E(`/${i}`)} aria-current=${i===s?"page":void 0}>
            ${O(m)}<span>${c}</span>
          </a>
        </li>`)}
      ${r.length>0&&o`<li>
          <${F} label=${l.shell.more} items=${U(r)} aria-current=${u?"true":void 0}>
            ${f("ellipsis")}<span>${l.shell.more}</span>
          <//>
        </li>`}
    </ul>
    ${!t&&e.some(({name:i})=>i==="files")&&o`<${fe} />`}
  </nav>`}function U(e){return e.map(({name:t,title:a,icon:n})=>({label:a,icon:O(n),href:E(`/${t}`),isCurrent:t===g.value?.name}))}var Q=["light","dark","system"],$e="nodekeep-theme",v=$(ge());j(()=>{let{dataset:e}=document.documentElement;v.value==="system"?delete e.theme:e.theme=v.value;for(let t of document.querySelectorAll("meta[data-scheme]")){let{scheme:a}=t.dataset;v.value==="system"?t.media=`(prefers-color-scheme: ${a})`:t.media=a===v.value?"all":"not all"}});addEventListener("storage",()=>{v.value=ge()});function ye(e){v.value=e;try{localStorage.setItem($e,e)}catch{}}function ge(){try{let e=localStorage.getItem($e);return Q.find(t=>t===e)??"system"}catch{return"system"}}var Fe={light:"sun",dark:"moon",system:"monitor"};function ve({user:e,pages:t}){let a=[...U(t.filter(({place:r})=>r==="user")),null,...Q.map(r=>({label:l.shell.themes[r],icon:Fe[r],isChosen:v.value===r,run:()=>ye(r)})),null,{label:l.shell.signOut,icon:"log-out",run:()=>{He()}}],n=o`<p class="person-head"><${K} name=${e.username} /><b>${e.username}</b></p>`;return o`<${F} class="person" label=${l.shell.menuOf(e.username)} items=${a} head=${n}>
    <${K} name=${e.username} />
  <//>`}async function He(){let{signOut:e,signOutTitle:t,signOutText:a}=l.shell;if(!(Ae()&&await ue({title:t,text:a,agree:e})===null))try{await ae(),ee(l.shell.signedOut)}catch(n){S(n,l.shell.requestFailed)}}function Ae(){return!dispatchEvent(new Event("beforeunload",{cancelable:!0}))}var Oe='input:not([type="checkbox"]), textarea, select',Be="dialog[open], :popover-open, .viewer";function be({target:e}){return!(e instanceof Element&&e.matches(Oe))&&document.querySelector(Be)===null}var De=200,W="files";function xe(){let e=y(null),t=we(),a=C(P);b(()=>{let r=we();e.current!==null&&e.current.value!==r&&(e.current.value=r)},[t]),b(()=>{let r=s=>{let{key:u,ctrlKey:i,metaKey:c,altKey:m}=s;u!=="/"||i||c||m||!be(s)||(s.preventDefault(),e.current?.focus(),e.current?.select())};return addEventListener("keydown",r),()=>removeEventListener("keydown",r)},[]);let n=({currentTarget:r})=>{let s=r.value,u=g.peek()?.name===W;if(s===""&&!u)return;let i=u?Y.peek():"/";Z(`/${W}${i==="/"?"":i}`,{query:s===""?{}:{search:s},replace:u&&D.peek().search!==void 0})};return o`<search>
    ${f("search")}
    <input
      type="search"
      ref=${e}
      defaultValue=${t}
      placeholder=${a?l.shell.searchShort:l.shell.search}
      aria-label=${l.shell.search}
      aria-keyshortcuts="/"
      maxlength=${De}
      autocomplete="off"
      spellcheck=${!1}
      onInput=${n}
    />
    ${Re()&&o`<kbd aria-hidden="true">/</kbd>`}
  </search>`}function we(){return g.value?.name===W?D.value.search??"":""}function Re(){return matchMedia("(hover: hover) and (pointer: fine)").matches}var Ee=$(null),Me=$(!1);async function qe(){try{Ee.value??=(await import("./sign-in.js")).SignIn}catch{Me.value=!0}}function z(e){b(()=>{qe()},[]);let t=Ee.value;return t!==null?o`<${t} ...${e} />`:Me.value?o`<p role="alert">${l.shell.pageFailed(l.signIn.title)}</p>
    <p><button type="button" onClick=${()=>location.reload()}>${l.shell.reload}</button></p>`:o`<p class="hint">${l.shell.loading}</p>`}function Ke(){let e=oe.value;return o`
    <a class="skip" href="#content" onClick=${Ue}>${l.shell.skip}</a>
    <p class="away" role="status">${B.value&&l.shell.away}</p>
    ${M.value&&o`<${he} pages=${M.value.pages} />`}
    <${Qe} />
    <${le} />
    <${We} />
    <${te} />
    <${ce} />
    ${e&&o`<${q} title=${l.signIn.againTitle} onClose=${()=>e.end(!1)}>
        <p>${l.signIn.again}</p>
        <${z} again />
        <p class="buttons"><button type="button" onClick=${()=>e.end(!1)}>${l.cancel}</button></p>
      <//>`}
  `}function Ue(e){e.preventDefault(),document.getElementById("content")?.focus()}function Qe(){let e=M.value;return o`<header class="top">
    <${H} />
    ${e?.search&&o`<${xe} />`}
    ${e&&o`<div class="end">
        ${e.user.owner&&o`<${me} />`}
        <${ve} user=${e.user} pages=${e.pages} />
      </div>`}
  </header>`}function We(){let e=M.value;if(e===void 0){let{loading:n,awayTitle:r,awayText:s}=l.shell;return o`<main id="content">
      ${B.value?o`<h1 class="unseen">${T.value}</h1><${ie} icon="wifi-off" title=${r} text=${s} />`:o`<p class="hint">${n}</p>`}
    </main>`}if(e===null)return o`<main id="content" tabindex="-1" class="narrow"><${z} /></main>`;let t=g.value;if(t!==void 0)return o`<${se} key=${t.name} page=${t} user=${e.user} />`;let a=e.pages.length===0?l.shell.noPages:l.shell.noPage;return o`<main id="content" tabindex="-1" class="narrow"><p>${a}</p></main>`}async function ze(){await re(),X()&&ne()&&location.reload()}_(o`<${Ke} />`,document.body);ze().catch(e=>S(e,l.shell.requestFailed));
