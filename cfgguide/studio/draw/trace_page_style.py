"""The style sheet and the script of the page that ``cfgguide trace --html`` writes.

The page works without the script: a token is a link to its section, and CSS shows the one that is
linked to. The script adds arrow keys and the search through all allowed tokens, of which it renders
only the rows that can be seen.
"""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#202124;--soft:#5f6368;--line:#dadce0;
--chip:#f1f3f4;--good:#0d6832;--bad:#a50e0e;--mark:#1a57c2}
@media (prefers-color-scheme:dark){:root{--paper:#16181d;--ink:#e8eaed;--soft:#a2a9b1;
--line:#3a3f47;--chip:#262a31;--good:#7fdca4;--bad:#ff9d94;--mark:#8ab4f8}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:70rem;padding:1.2rem;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.25rem;margin:0 0 .2rem}h2{font-size:1.05rem;margin:0 0 .5rem}
h3{font-size:.8rem;margin:1rem 0 .3rem;color:var(--soft);text-transform:uppercase;
letter-spacing:.04em}
p{margin:.3rem 0}.soft{color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}
code,pre,.token,.chip,.rows,input{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.2rem 0;font-size:.87rem}
.text{display:flex;flex-wrap:wrap;gap:4px;margin:1rem 0;padding:0}
.token{display:block;padding:.15rem .45rem;border-radius:6px;text-decoration:none;white-space:pre;
border:2px solid transparent;overflow-wrap:anywhere}
.token:focus-visible{outline:2px solid var(--mark);outline-offset:1px}
.token.on{border-color:var(--mark)}
.rest{opacity:.55;padding:.25rem .2rem;white-space:pre-wrap;overflow-wrap:anywhere}
.legend{display:flex;flex-wrap:wrap;gap:.4rem .8rem;font-size:.85rem}
.legend b{font-weight:500;border-radius:4px;padding:.1rem .4rem}
.step{display:none;border-top:1px solid var(--line);margin-top:1rem;padding-top:.8rem}
.step:focus{outline:none}.step:target{display:block}
body:not(:has(.step:target)) .step.first{display:block}
.chips{display:flex;flex-wrap:wrap;gap:4px;max-height:16rem;overflow:auto}
.chip{background:var(--chip);border-radius:5px;padding:0 .4rem;white-space:pre;font-size:.87rem}
input{width:100%;max-width:26rem;padding:.35rem .5rem;border:1px solid var(--line);
border-radius:6px;background:var(--paper);color:var(--ink);font-size:.95rem}
.rows{height:17rem;overflow:auto;border:1px solid var(--line);border-radius:6px;margin-top:.4rem;
position:relative;font-size:.87rem}
.rows>div{position:relative}.row{position:absolute;left:0;right:0;height:22px;padding:0 .6rem;
white-space:pre;overflow:hidden;text-overflow:ellipsis;display:flex;gap:1rem}
.row i{font-style:normal;color:var(--soft);min-width:5rem;text-align:right}
kbd{border:1px solid var(--line);border-radius:4px;padding:0 .3rem;font-size:.85em}
"""

SCRIPT = """
(function(){
"use strict";
var data=JSON.parse(document.getElementById("data").textContent);
var links=[].slice.call(document.querySelectorAll("a.token"));
var steps=[].slice.call(document.querySelectorAll("section.step"));
var HEIGHT=22, cache={};
document.body.classList.add("live");
document.getElementById("keys").hidden=false;
function here(){var i=steps.findIndex(function(s){return "#"+s.id===location.hash});
  return i<0?steps.findIndex(function(s){return s.classList.contains("first")}):i}
function ids(mask){
  if(!cache[mask]){cache[mask]=data.masks[mask].map(function(i){return [data.ids[i],data.texts[i],
    data.texts[i].toLowerCase()]})}
  return cache[mask];
}
function list(step){
  var holder=step.querySelector(".allowed");
  if(!holder||holder.dataset.live){return}
  holder.dataset.live="1";
  var all=ids(+holder.dataset.mask), found=all;
  var most=all.length<+holder.dataset.n;
  var input=document.createElement("input");
  input.type="search";input.placeholder="search the allowed tokens";
  input.setAttribute("aria-label","search the allowed tokens");
  var count=document.createElement("p");count.className="soft";count.setAttribute("role","status");
  var rows=document.createElement("div");rows.className="rows";rows.tabIndex=0;
  var inner=document.createElement("div");rows.appendChild(inner);
  function draw(){
    var first=Math.max(0,Math.floor(rows.scrollTop/HEIGHT)-5);
    var last=Math.min(found.length,first+Math.ceil(rows.clientHeight/HEIGHT)+10);
    inner.style.height=found.length*HEIGHT+"px";
    var part=document.createDocumentFragment();
    for(var i=first;i<last;i++){
      var row=document.createElement("div");row.className="row";row.style.top=i*HEIGHT+"px";
      var id=document.createElement("i");id.textContent=found[i][0];
      var text=document.createElement("span");text.textContent=found[i][1];
      row.appendChild(id);row.appendChild(text);part.appendChild(row);
    }
    inner.textContent="";inner.appendChild(part);
  }
  function search(){
    var wanted=input.value.toLowerCase().replace(/ /g,"\\u2423");
    found=wanted?all.filter(function(each){return each[2].indexOf(wanted)>=0||
      String(each[0])===wanted}):all;
    count.textContent=found.length.toLocaleString("en")+" of "+all.length.toLocaleString("en")+
      " tokens"+(most?" listed, the most readable":"");
    rows.scrollTop=0;draw();
  }
  input.addEventListener("input",search);
  rows.addEventListener("scroll",function(){requestAnimationFrame(draw)});
  holder.textContent="";holder.appendChild(input);holder.appendChild(count);holder.appendChild(rows);
  search();
}
function show(){
  var i=here();
  links.forEach(function(link,n){link.classList.toggle("on",n===i);
    if(n===i){link.setAttribute("aria-current","true")}else{link.removeAttribute("aria-current")}});
  if(steps[i]){list(steps[i])}
}
function go(i){
  i=Math.max(0,Math.min(steps.length-1,i));
  var y=window.scrollY;
  location.replace("#"+steps[i].id);window.scrollTo(0,y);
  if(links[i]){links[i].focus({preventScroll:true})}
  show();
}
links.forEach(function(link,n){
  link.addEventListener("click",function(event){event.preventDefault();go(n)})});
window.addEventListener("hashchange",show);
document.addEventListener("keydown",function(event){
  if(event.target.tagName==="INPUT"||event.ctrlKey||event.altKey||event.metaKey){return}
  var to={ArrowRight:here()+1,ArrowLeft:here()-1,Home:0,End:steps.length-1}[event.key];
  if(to!==undefined){event.preventDefault();go(to)}
  if(event.key==="/"){var input=steps[here()].querySelector("input");
    if(input){event.preventDefault();input.focus()}}
});
show();
})();
"""
